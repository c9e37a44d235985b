"""Whether evaluating an expression can fail on some row, of what the bridge shows of it: docs/protocol.md, "steps".

How each class of Spark's is known stands in planner/plan/spark_expressions.py. What is not known counts as able to fail.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner.plan.errors import SnapshotError
from planner.plan.json_fields import Raw, read_list
from planner.plan.spark_expressions import ANSI, BY_RULE, KNOWN, LITERAL, NEVER
from planner.plan.types import INTEGRAL_DIGITS, INTEGRAL_WIDTH, decimal_of, keeps_values

MOST_DIGITS = 38
ANSI_MODE = "ANSI"
# The bridge cuts literals off at this length.
LONGEST_LITERAL = 100

_FRACTIONS = ("float", "double")
_MOMENTS = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of an expression.

    `mode` is ANSI, TRY or LEGACY where the operation knows such modes, else empty. `args` are types, of a literal `type=value`, and
    `unscaled TYPE` of a decimal taken for its whole number.
    """

    name: str
    mode: str
    type: str
    args: tuple[str, ...]


def read_may_raise(raw: Raw, where: str) -> bool:
    """Whether an object of the snapshot says that it may fail, or shows a step that may.

    Raises:
        SnapshotError: its steps are not as docs/protocol.md has them.
    """
    said = raw.get("may_raise", False) is not False
    if "steps" not in raw:
        return said
    steps = read_steps(raw, "steps", where)
    return said or any(may_raise(step) for step in steps)


def read_steps(raw: Raw, name: str, where: str) -> tuple[Step, ...]:
    """A list of steps, empty where the field is absent."""
    return tuple(_step(each, where) for each in (read_list(raw, name, where) if name in raw else []))


def _step(raw: object, where: str) -> Step:
    if (
        isinstance(raw, list)
        and len(raw) == 4
        and isinstance(raw[3], list)
        and all(isinstance(x, str) for x in (*raw[:3], *raw[3]))
    ):
        return Step(raw[0], raw[1], raw[2], tuple(raw[3]))
    raise SnapshotError(f"{where} has {raw!r:.80} among its steps, they must be name, mode, type and list of arguments")


@functools.lru_cache(maxsize=4096)
def may_raise(step: Step) -> bool:
    """Whether an operation can fail on some value of its arguments."""
    known = KNOWN.get(step.name)
    if known == NEVER:
        return False
    if known == ANSI:
        return step.mode == ANSI_MODE
    if known == LITERAL:
        return not all(_is_literal(arg) for arg in step.args[1:])
    rule = _RULES.get(step.name) if known == BY_RULE else None
    return rule is None or not rule(step)


def _is_literal(arg: str) -> bool:
    return "=" in arg


def _value(arg: str) -> str | None:
    """The text of a literal, None for anything else and for one that was cut off."""
    value = arg.partition("=")[2] if _is_literal(arg) else None
    return value if value is not None and len(value) < LONGEST_LITERAL else None


def _type(arg: str) -> str:
    return arg.partition("=")[0]


def _number(arg: str) -> float | None:
    try:
        return float(_value(arg) or "")
    except ValueError:
        return None


def _arithmetic(step: Step) -> bool:
    """ANSI arithmetic fails on overflow, which doubles do not know, and on division by zero, which a literal can rule out."""
    if step.mode != ANSI_MODE:
        return True
    if len(step.args) != 2:
        return False
    left, divisor = _type(step.args[0]), _number(step.args[1])
    if decimal_of(left) is not None:
        return _decimal_fits(step, divisor)
    if step.name in ("Add", "Subtract", "Multiply"):
        return left in _FRACTIONS
    if divisor is None or divisor == 0:
        return False
    if step.name == "IntegralDivide":
        return left in INTEGRAL_WIDTH and divisor != -1
    return left in _FRACTIONS or (left in INTEGRAL_WIDTH and step.name != "Divide")


def _decimal_fits(step: Step, divisor: float | None) -> bool:
    """Whether a result has room for all its digits; the formulas are those of Spark's documentation (ANSI, decimal operations)."""
    left, right = (decimal_of(_type(arg)) for arg in step.args)
    if left is None or right is None:
        return False
    (p, r), (q, s) = left, right
    if step.name in ("Add", "Subtract"):
        digits = max(r, s) + max(p - r, q - s) + 1
    elif step.name == "Multiply":
        digits = p + q + 1
    elif step.name == "Divide" and divisor:
        digits = p - r + s + max(6, r + q + 1)
    else:
        return False
    return digits <= MOST_DIGITS


def _turned(step: Step) -> bool:
    """The least whole number has no positive counterpart."""
    return step.mode != ANSI_MODE or step.type in _FRACTIONS or decimal_of(step.type) is not None


def _sum_fits(child: str) -> bool:
    """A sum has 10 digits more than its decimals, and 64 bits for whole numbers: 4 billion of the smaller ones fit.

    Spark sums decimals of up to 8 digits by their unscaled values.
    """
    unscaled = decimal_of(child.removeprefix("unscaled "))
    if unscaled is not None:
        return unscaled[0] <= (8 if child.startswith("unscaled ") else MOST_DIGITS - 10)
    return child in ("tinyint", "smallint", "int", *_FRACTIONS)


def _sum(step: Step) -> bool:
    return step.mode != ANSI_MODE or (bool(step.args) and _sum_fits(step.args[0]))


def in_any_order(step: Step) -> bool:
    """Whether an aggregate is the same in whatever order its rows come: shuffled ones come in another when a stage runs again."""
    child = step.args[0] if step.args else ""
    exact = _sum_fits(child) and child not in _FRACTIONS
    if step.name == "Sum":
        # try_sum, and sums of long decimals, are null when a sum on the way is too large.
        return exact or (child == "bigint" and step.mode != "TRY")
    if step.name == "Average":
        # A double, which holds whole numbers of 15 digits, is what unscaled values are summed in.
        unscaled = decimal_of(child.removeprefix("unscaled ")) if child.startswith("unscaled ") else None
        return exact if unscaled is None else unscaled[0] <= 7
    return step.name in ("Count", "Min", "Max", "HyperLogLogPlusPlus")


def _average(step: Step) -> bool:
    return _sum(step) or step.args[:1] == ("bigint",)


def _cast(step: Step) -> bool:
    if step.mode != ANSI_MODE or not step.args:
        return step.mode != ANSI_MODE
    source, target = _type(step.args[0]), step.type
    if source == target or source == "void" or keeps_values(source, target) or target == "string":
        return True
    if source in _MOMENTS or source == "date":
        return target in (*_MOMENTS, "date") or (target == "bigint" and source == "timestamp")
    is_number = source in INTEGRAL_WIDTH or source in _FRACTIONS or decimal_of(source) is not None
    if target in _FRACTIONS:
        return is_number or source == "boolean"
    if target == "boolean":
        return is_number
    if source == "boolean":
        digits = decimal_of(target)
        return target in INTEGRAL_DIGITS or (digits is not None and digits[0] > digits[1])
    return source == "string" and target == "binary"


def _groups(pattern: str) -> int | None:
    """How many groups a Java regular expression has; None where that takes more than a look."""
    if "\\Q" in pattern:
        return None
    plain = re.sub(r"\\.", "", pattern, flags=re.DOTALL)
    if "[" in plain and ("(" in plain[plain.index("[") :]):
        plain = re.sub(r"\[\^?\]?[^\[\]]*\]", "", plain)
        if "[" in plain:
            return None
    return len(re.findall(r"\((?!\?)|\(\?<(?![=!])", plain))


def _extraction(step: Step) -> bool:
    """A group that the pattern does not have is an error on the first row that matches."""
    if len(step.args) != 3:
        return False
    pattern, wanted = _value(step.args[1]), _number(step.args[2])
    groups = None if pattern is None else _groups(pattern)
    return groups is not None and wanted is not None and 0 <= wanted <= groups


def _replacement(step: Step) -> bool:
    """A replacement may name a group, and one that the pattern does not have is an error."""
    if len(step.args) != 4 or not all(_is_literal(arg) for arg in step.args[1:]):
        return False
    by, place = _value(step.args[2]), _number(step.args[3])
    return by is not None and "$" not in by and "\\" not in by and place is not None and place >= 1


def _rounding(step: Step) -> bool:
    """Rounding to a place before the point makes a number larger; a fraction has room for that."""
    return step.mode != ANSI_MODE or step.type in _FRACTIONS


def _whole(step: Step) -> bool:
    """A double may be larger than any bigint; of a decimal the whole part is a decimal again."""
    return step.mode != ANSI_MODE or decimal_of(step.type) is not None


def _bounded(step: Step) -> bool:
    """What makes a text or list of a length that a row gives may be asked for more than there is memory."""
    size = _number(step.args[-1] if len(step.args) < 3 else step.args[1]) if step.args else None
    return size is not None and size <= 1_000_000


_RULES: Mapping[str, Callable[[Step], bool]] = {
    **dict.fromkeys(("Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod"), _arithmetic),
    **dict.fromkeys(("UnaryMinus", "Abs"), _turned),
    **dict.fromkeys(("Round", "BRound"), _rounding),
    **dict.fromkeys(("Ceil", "Floor"), _whole),
    **dict.fromkeys(("RegExpExtract", "RegExpExtractAll"), _extraction),
    **dict.fromkeys(("StringRepeat", "StringSpace", "StringLPad", "StringRPad", "ArrayRepeat"), _bounded),
    "Sum": _sum,
    "Average": _average,
    "Cast": _cast,
    "RegExpReplace": _replacement,
}
