"""Why a filter is not placed: a code for programs and a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass

PLANNED = "PLANNED"
APPLIED = "APPLIED"

# The whole query.
ADAPTIVE_OFF = "ADAPTIVE_OFF"
COST_NEVER = "COST_NEVER"

# What users say of a table, and what its filters did before.
HINT_NEVER = "HINT_NEVER"
LOST_TWICE = "LOST_TWICE"

# The join.
PRESERVED_SIDE = "PRESERVED_SIDE"
ANTI_JOIN = "ANTI_JOIN"
EXISTENCE_JOIN = "EXISTENCE_JOIN"
FULL_OUTER_JOIN = "FULL_OUTER_JOIN"
NULL_AWARE_JOIN = "NULL_AWARE_JOIN"
DUPLICATE_KEY = "DUPLICATE_KEY"
NULL_SAFE_PAIR = "NULL_SAFE_PAIR"
SOURCE_NOT_EXCHANGED = "SOURCE_NOT_EXCHANGED"

# Both the join and the way to the scan.
MAY_RAISE = "MAY_RAISE"
NOT_DETERMINISTIC = "NOT_DETERMINISTIC"

# The way from the probe key to its scan.
ALREADY_STARTED = "ALREADY_STARTED"
OPERATOR_IN_BETWEEN = "OPERATOR_IN_BETWEEN"
NOT_A_PLAIN_COLUMN = "NOT_A_PLAIN_COLUMN"
CAST_NOT_WIDENING = "CAST_NOT_WIDENING"
PARTITION_COLUMN = "PARTITION_COLUMN"
NOT_PLAIN_PARQUET = "NOT_PLAIN_PARQUET"
FIELD_ID_READ = "FIELD_ID_READ"
NOT_A_FILE_SCAN = "NOT_A_FILE_SCAN"
KEY_TYPE = "KEY_TYPE"
SKIPS_CORRUPT_FILES = "SKIPS_CORRUPT_FILES"

# The plan as a whole: who waits for whom, and what that is worth.
SHARED_EXCHANGE = "SHARED_EXCHANGE"
GATE_OFF = "GATE_OFF"
BUILD_NOT_SMALLER = "BUILD_NOT_SMALLER"
WAIT_DOES_NOT_PAY = "WAIT_DOES_NOT_PAY"
FILL_DOES_NOT_PAY = "FILL_DOES_NOT_PAY"
WOULD_WAIT_IN_A_CIRCLE = "WOULD_WAIT_IN_A_CIRCLE"

# What other sizes than were expected may change.
BY_SIZE = frozenset({BUILD_NOT_SMALLER, WAIT_DOES_NOT_PAY, FILL_DOES_NOT_PAY, WOULD_WAIT_IN_A_CIRCLE})

# The indexes of a table, as far as a plan tells; the host passes on what the store finds
# (rtfilter/store/index_files/index_problems.py).
INDEX_LACKS_COLUMN = "INDEX_LACKS_COLUMN"
CONDITION_NOT_JUDGED = "CONDITION_NOT_JUDGED"

# After the fill.
REJECTS_NO_PACK = "REJECTS_NO_PACK"
FOOTERS_NOT_KNOWN = "FOOTERS_NOT_KNOWN"
ROWS_ONLY = "ROWS_ONLY"
KEY_FIRST = "KEY_FIRST"
GAIN_TOO_SMALL = "GAIN_TOO_SMALL"

# Rows, one by one, after the fill.
ROWS_TESTED = "ROWS_TESTED"
NOTHING_AHEAD = "NOTHING_AHEAD"
PASSES_MOST_ROWS = "PASSES_MOST_ROWS"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason code and its sentence."""

    reason: str
    detail: str
