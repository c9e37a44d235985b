"""A report without what a query said of its data: digests stand in the place of literals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b

from rtfilter.report import FAILED, PLANNER_FAILED, STATIC, FilterReport, Report, TreeReport, with_names

DIGEST_BYTES = 6
# `table.column`, or several of them: names hold no literal. Whatever looks otherwise may be computed.
_NAMES = re.compile(r"[^\W\d]\w*(\.\w+)*(, [^\W\d]\w*(\.\w+)*)*")
# In sentences of others: what stands in quotes, and numbers.
_QUOTED_OR_NUMBER = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|(?<![\w.])[-+]?\d[\w.,:+-]*")
# Reasons of star-trees whose sentences hold names and numbers of rows only.
_OF_NAMES = ("USED", "OTHER_TREE", "NOT_FEWER_ROWS", "TOO_STALE", "HYBRID_OFF", "NO_DIMENSION", "HINT_SKIP", "OTHER_TYPE")


def digest_of(text: str) -> str:
    """`#` and twelve hexadecimal digits: equal for equal texts, of any machine and day."""
    return "#" + blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()


def without_literals(report: Report) -> Report:
    """The report with digests for the query's text, for conditions and for computed keys, and in errors and warnings for quotes and
    numbers."""
    found = {text for entry in report.filters for text in _computed(entry)}
    computed = sorted(found, key=len, reverse=True)
    own = report.execution is not None and report.query == f"execution {report.execution}"
    return replace(
        report,
        query=report.query if own else digest_of(report.query),
        filters=with_names([_of_filter(entry, computed) for entry in report.filters]),
        star_trees=tuple(map(_of_tree, report.star_trees)),
        warnings=tuple(_others(text) for text in report.warnings),
        detail=_others(report.detail) if report.reason == PLANNER_FAILED else _replaced(report.detail, computed),
    )


def _computed(entry: FilterReport) -> Iterable[str]:
    if entry.strategy == STATIC:
        yield entry.build
    yield from (text for text in (entry.build, entry.probe) if text and not _NAMES.fullmatch(text))


def _of_filter(entry: FilterReport, computed: list[str]) -> FilterReport:
    detail = _others(entry.detail) if entry.decision == FAILED else _replaced(entry.detail, computed)
    build, probe = (digest_of(text) if text in computed else text for text in (entry.build, entry.probe))
    return replace(entry, build=build, probe=probe, detail=detail)


def _of_tree(entry: TreeReport) -> TreeReport:
    detail = entry.detail if entry.reason in _OF_NAMES else _others(entry.detail)
    if not entry.computed:
        return replace(entry, detail=detail)
    told = detail if entry.reason in _OF_NAMES else digest_of(entry.detail)
    return replace(entry, aggregate=digest_of(entry.aggregate), detail=told)


def _replaced(text: str, computed: list[str]) -> str:
    for each in computed:
        text = text.replace(each, digest_of(each))
    return text


def _others(text: str) -> str:
    return _QUOTED_OR_NUMBER.sub(lambda found: digest_of(found.group()), text)
