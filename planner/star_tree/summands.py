"""What is summed up of a table's rows, as the same of a star-tree's rows, which stand for several of them each.

The rows of the table behind one row of the tree have the same dimensions. So a sum of `p * (1 - d)` with the dimension `d` is
`(1 - d)` times the stored sum of `p`, one of `p + d` is the stored sum and `d` times the number of values, and one of a choice by
dimensions takes one branch for all of them. A sum of `p + q` is that of both stored sums where neither has a null: Spark leaves out
a row in which one is null, with the other's value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from planner.star_tree.facts import COUNT, TreeFacts
from planner.star_tree.fragment import Term
from planner.star_tree.question import Question, column_of
from planner.star_tree.reasons import TreeReason, TreeRefusedError

WHOLE = ("tinyint", "smallint", "int", "bigint")
DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
# Spark keeps that many decimal places of a product, whatever has to give way.
_PLACES_KEPT = 6
_MOST_DIGITS = 38


@dataclass(slots=True)
class Summand:
    """Turns what is summed up into a form for the bridge, and notes what that reads.

    `stored`: columns of the tree; `columns`: measures of the table; `told_apart`: dimensions that are to be told apart."""

    question: Question
    facts: TreeFacts
    text: str
    stored: set[str] = field(default_factory=set)
    columns: set[str] = field(default_factory=set)
    told_apart: set[str] = field(default_factory=set)

    def of(self, term: Term) -> dict[str, Any]:
        """The form of an expression. Raises TreeRefusedError."""
        column = column_of(self.question, term)
        if column is not None and (column.type not in WHOLE or f"sum({column.name})" in self.facts.stored):
            self.stored.add(self._require(f"sum({column.name})"))
            self.columns.add(column.name)
            return {"stored": f"sum({column.name})"}
        if term.op == "literal" and term.number >= 0 and (term.value is None or _is_zero(term.value)):
            return {"constant": term.number}
        if term.op in ("If", "CaseWhen"):
            return self._choice(term)
        if term.op == "Cast" and _widens(term.args[0].type, term.type):
            return self.of(term.args[0])
        if self._is_of_dimensions(term):
            return self._times(term, COUNT)
        if term.op in ("Add", "Subtract", "Multiply") and len(term.args) == 2:
            return self._arithmetic(term)
        if column is not None:
            self._require(f"sum({column.name})")
        lacking = sorted(self._names(term) - set(self.facts.dimensions)) if term.type in WHOLE else ()
        detail = f"{self.text} sums an expression that can't be made of stored sums."
        raise TreeRefusedError(TreeReason.NOT_STORED, detail, tuple(lacking))

    def _require(self, stored: str) -> str:
        if stored not in self.facts.stored:
            detail = f"{self.text} needs {stored}, which the tree does not hold."
            raise TreeRefusedError(TreeReason.NOT_STORED, detail, measure=stored)
        return stored

    def _is_of_dimensions(self, term: Term) -> bool:
        return self._names(term) <= set(self.facts.dimensions)

    def _names(self, term: Term) -> set[str]:
        return {each.name for each in self.question.relation.columns if each.id in term.refs}

    def _times(self, term: Term, count: str) -> dict[str, Any]:
        """An expression of dimensions, once for each row or value of the table. Raises TreeRefusedError."""
        if term.type not in WHOLE and (count == COUNT or DECIMAL.fullmatch(term.type) is None):
            raise TreeRefusedError(TreeReason.NOT_STORED, f"{self.text} sums {term.type}s that are no measure of the tree.")
        self._own(term)
        self.stored.add(self._require(count))
        return {"times_count": term.number, "count": count}

    def _own(self, term: Term) -> None:
        """Raises TreeRefusedError where an expression comes from several nodes of the plan: the bridge can't use it again."""
        if term.number < 0:
            raise TreeRefusedError(
                TreeReason.FUNCTION_NOT_SERVED, f"{self.text} is of an expression that is made in several steps."
            )
        self.told_apart |= self._names(term)

    def _choice(self, term: Term) -> dict[str, Any]:
        pairs = list(zip(term.args[0::2], term.args[1::2], strict=False))
        otherwise = term.args[-1] if len(term.args) % 2 else None
        for condition, _ in pairs:
            self._own(condition)
        branches = [[condition.number, self.of(value)] for condition, value in pairs]
        return {"branches": branches, "otherwise": None if otherwise is None else self.of(otherwise)}

    def _arithmetic(self, term: Term) -> dict[str, Any]:
        """A product with what dimensions say, a sum with it, or one of two measures. Raises TreeRefusedError."""
        self._require_exact(term)
        settled = [self._is_of_dimensions(each) for each in term.args]
        if term.op == "Multiply":
            if settled[0] == settled[1]:
                raise TreeRefusedError(TreeReason.NOT_STORED, f"{self.text} takes two measures together, row by row.")
            others, ours = term.args if settled[0] else reversed(term.args)
            self._own(others)
            return {"product": [others.number, self.of(ours)]}
        values = [None if is_settled else self.of(each) for each, is_settled in zip(term.args, settled, strict=True)]
        counted = self._same_nulls(term)
        return {
            "minuend" if term.op == "Subtract" else "augend": [
                self._times(each, counted) if value is None else value for each, value in zip(term.args, values, strict=True)
            ]
        }

    def _same_nulls(self, term: Term) -> str:
        """The stored number of rows in which all parts of a sum have values. Raises TreeRefusedError: in some only one has."""
        # Of a dimension that is summed up, too, its sum may be read in place of its values.
        columns = sorted(self._names(term) - (set(self.facts.dimensions) - self.columns))
        # A choice may have a value where the measure has none, so that the number of its values is another one.
        if self.facts.without_nulls.issuperset(columns) or (len(columns) == 1 and not _has_choice(term)):
            return f"count({columns[0]})"
        nulls = ", ".join(name for name in columns if name not in self.facts.without_nulls)
        known = "files beside the tree may have" if self.facts.raw else "the table has"
        raise TreeRefusedError(
            TreeReason.NULLS_BETWEEN, f"{self.text} leaves out rows with a null on either side, and {known} nulls in {nulls}."
        )

    def _require_exact(self, term: Term) -> None:
        """Raises TreeRefusedError where the expression of a single row may be rounded or overflow."""
        kinds = [DECIMAL.fullmatch(each.type) for each in (term, *term.args)]
        if all(kinds):
            (digits, places), (p1, s1), (p2, s2) = ((int(kind[1]), int(kind[2])) for kind in kinds if kind is not None)
            product = term.op == "Multiply"
            exact = s1 + s2 if product else max(s1, s2)
            room = p1 + p2 + 1 if product else max(p1 - s1, p2 - s2) + exact + 1
            if places == exact <= _PLACES_KEPT and digits >= room <= _MOST_DIGITS:
                return
        elif term.type == "bigint" and not self.question.ansi:
            return
        elif term.type in WHOLE:
            largest = self.largest(term)
            if largest is not None and largest < 2 ** _BITS[term.type]:
                return
        raise TreeRefusedError(
            TreeReason.MAY_OVERFLOW, f"{self.text}: what it sums up may be rounded or overflow in a row of the table."
        )

    def largest(self, term: Term) -> int | None:
        """The greatest absolute value of an expression of whole numbers, where that is known."""
        column = column_of(self.question, term)
        if column is not None:
            return None if self.facts.raw else self.facts.largest.get(column.name)
        if term.op == "literal":
            value = term.value or "0"
            return abs(int(value)) if value.lstrip("-").isdigit() else None
        if term.op == "Cast" and term.args[0].type in WHOLE:
            return self.largest(term.args[0])
        is_choice = term.op in ("If", "CaseWhen")
        sides = [self.largest(each) for each in (_values(term) if is_choice else term.args)]
        if is_choice:
            return None if None in sides else max(each for each in sides if each is not None)
        if term.op not in ("Add", "Subtract", "Multiply") or len(sides) != 2 or sides[0] is None or sides[1] is None:
            return None
        return sides[0] * sides[1] if term.op == "Multiply" else sides[0] + sides[1]


def _widens(narrow: str, wide: str) -> bool:
    """Whether every value of a type is one of another type, and none of it is rounded."""
    if narrow in WHOLE and wide in WHOLE:
        return WHOLE.index(narrow) <= WHOLE.index(wide)
    one, other = DECIMAL.fullmatch(narrow), DECIMAL.fullmatch(wide)
    if one is None or other is None:
        return False
    (digits, scale), (more, its_scale) = ((int(each[1]), int(each[2])) for each in (one, other))
    return its_scale >= scale and more - its_scale >= digits - scale


def _values(choice: Term) -> tuple[Term, ...]:
    """What a choice may give."""
    return (*choice.args[1::2], *(choice.args[-1:] if len(choice.args) % 2 else ()))


def _has_choice(term: Term) -> bool:
    return term.op in ("If", "CaseWhen") or any(_has_choice(each) for each in term.args)


def _is_zero(value: str) -> bool:
    try:
        return float(value) == 0.0
    except ValueError:
        return False
