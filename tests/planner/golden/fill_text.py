"""What is known when a scan's filters are filled, and what is decided on them, as texts. A line for the scan, one for each filter:

    Scan packs=100 rows=10M
    set keys=204 values=102k rejects=96 ahead(shuffle_bytes=24 sorts=1)
    bloom keys=51k values=102k rejects=0 ahead(probes=1)
    static rejects=7 told=100

The first word is what rows are held as: `set`, `bloom`, `range`, `tuple` (of several columns), `empty` (no key at all) or `static`.
`values` is the span of the column's values, `span` that of the keys (as many as there are keys where nothing is said, `?` for keys
that are no whole numbers). Packs have equally many rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tests.planner.golden.ask import (
    DecideSettings,
    FilterDecision,
    FilterFigures,
    Machine,
    Refusal,
    RowWork,
    StaticFigures,
    decide,
    decide_static,
)
from tests.planner.golden.words import count_of, fields_of, number_of

FORMS = {"set": "set", "bloom": "ranges", "range": "ranges", "tuple": "none", "empty": "empty"}
KINDS = {"tuple": "set", "empty": "set"}


def is_fill(lines: Sequence[str]) -> bool:
    """Whether a text is one of a fill and not of a plan."""
    return lines[0].startswith("Scan packs=")


def decision_lines(lines: Sequence[str], settings: Mapping[str, Any], show: Collection[str]) -> list[str]:
    """What becomes of the filters of one scan."""
    scan = fields_of(lines[0])
    static = [_static(scan, fields_of(line), settings) for line in lines[1:] if line.startswith("static")]
    figures = [_figures(number, scan, line) for number, line in enumerate(lines[1:]) if not line.startswith("static")]
    decided = decide(figures, DecideSettings(settings.get("cost", "auto"), settings.get("machine", Machine(cores=2))))
    found = [line for each in decided for line in _decision(each, show)]
    for entry in static:
        found.append(f"static  {entry['decision']} {entry['reason']}  packs {entry['packs_total']:,} -> {entry['packs_kept']:,}")
        found += [f"    {entry['detail']}"] if "detail" in show else []
    return found


def _static(scan: Mapping[str, str], fields: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, Any]:
    packs, rows, rejected = count_of(scan["packs"]) or 0, count_of(scan["rows"]) or 0, count_of(fields["rejects"]) or 0
    refusals = tuple(Refusal(code, f"It is {code}.") for code in fields.get("refused", "").split(",") if code)
    remarks = tuple(Refusal(code, f"It is {code}.") for code in fields.get("remarked", "").split(",") if code)
    told = count_of(fields.get("told", scan["packs"])) or 0
    figures = StaticFigures("s0", packs, rejected, rows, rows * rejected // max(packs, 1), 0, told, remarks, refusals)
    return decide_static(figures, settings.get("cost", "auto"))


def _figures(number: int, scan: Mapping[str, str], line: str) -> FilterFigures:
    kind, fields = line.split()[0], fields_of(re.sub(r" ahead\(.*\)", "", line))
    ahead = re.search(r" ahead\((.*)\)", line)
    keys, packs, rows = count_of(fields.get("keys", "0")) or 0, count_of(scan["packs"]) or 0, count_of(scan["rows"]) or 0
    span = count_of(fields.get("span", str(keys)))
    rejected = count_of(fields.get("rejects", "0")) or 0
    return FilterFigures(
        id=f"d1.{number}",
        kind=KINDS.get(kind, kind),
        form=FORMS[kind],
        ahead=_work("" if ahead is None else ahead[1]),
        keys=keys,
        key_min=None if span is None or not keys else 1,
        key_max=None if not keys else span,
        build_rows=keys,
        packs_total=packs,
        packs_rejected=rejected,
        rows_total=rows,
        rows_rejected=rows * rejected // max(packs, 1),
        value_span=count_of(fields["values"]) if "values" in fields else None,
        packs_bounded=count_of(fields.get("bounded", scan["packs"])) or 0,
        files_unknown=count_of(scan.get("unknown_files", "0")) or 0,
        footer_problem=scan.get("problem", ""),
        column_problem=fields.get("problem", ""),
        files_rejected=count_of(fields.get("files", "0")) or 0,
        rows_sure=count_of(fields.get("sure", "0")) or 0,
    )


def _work(text: str) -> RowWork:
    known = {name: number_of(value) for name, value in fields_of(text).items()}
    join = known.pop("join", None)
    return RowWork(**known, join=None if join is None else round(join))


def _decision(decision: FilterDecision, show: Collection[str]) -> list[str]:
    rows = "rows tested" if decision.rows else f"rows not tested: {decision.rows_reason}"
    told = [
        f"{decision.decision} {decision.reason}",
        f"packs {decision.packs_total:,} -> {decision.packs_kept:,}",
        f"rows {decision.rows_total:,} -> {decision.rows_kept:,}",
        rows,
        *([f"push={decision.push}" + (" and dictionaries" if decision.dictionary else "")] if "push" in show else []),
        *([f"gain={decision.estimated_gain_ms:,.1f}ms cost={decision.estimated_cost_ms:,.1f}ms"] if "gain" in show else []),
    ]
    return [f"{decision.kind}  {'  '.join(told)}", *([f"    {decision.detail}"] if "detail" in show else [])]
