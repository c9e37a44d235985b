"""The answer to a plan as a text: a line for each candidate, what would be filtered on the left, the keys' source on the right.

fact.k <- dim.k  planned gate
fact.v <- day.d  skipped WAIT_DOES_NOT_PAY
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tests.planner.golden.ask import KINDS

Entry = Mapping[str, Any]
# What `show` may ask for beside the reason.
SHOWN = ("ahead", "detail", "gain", "id", "limits", "unsettled", "warnings")


def answer_lines(answer: Entry, show: Collection[str]) -> list[str]:
    """The lines of one answer."""
    placed = {each["id"]: each for each in answer["placeholders"]}
    names = [f"{each['probe']} <- {each['build']}" for each in answer["candidates"]]
    width = max(map(len, names), default=0)
    lines: list[str] = []
    for name, candidate in zip(names, answer["candidates"], strict=True):
        placeholder = placed.get(candidate["placeholder"])
        outcome = f"skipped {candidate['reason']}" if candidate["decision"] == "skipped" else "planned"
        extras = [] if placeholder is None else _extras(placeholder, show)
        if "gain" in show and candidate["estimated_gain_ms"] is not None:
            extras.append(f"gain={candidate['estimated_gain_ms']:,.0f}ms")
        if "id" in show:
            extras.append(candidate["key_id"])
        lines.append("  ".join((name.ljust(width), " ".join((outcome, *extras)))))
        if "detail" in show:
            lines.append(f"    {candidate['detail']}")
    if "unsettled" in show:
        lines.append(f"unsettled: {', '.join(answer['unsettled']) or 'nothing'}")
    if "warnings" in show:
        lines += answer.get("warnings", [])
    return lines or ["nothing"]


def _extras(placeholder: Entry, show: Collection[str]) -> list[str]:
    kinds = placeholder["kinds"].split(",")
    told = [
        *(["gate"] if placeholder["gate"] else []),
        *(["keeps_nulls"] if placeholder["keep_nulls"] else []),
        *(["keeps_splits"] if placeholder.get("keep_splits") else []),
        *(["as one"] if len(placeholder["keys"]) > 1 else []),
        *([f"kinds={','.join(kinds)}"] if len(placeholder["keys"]) == 1 and tuple(kinds) != KINDS else []),
        *([_shift_text(placeholder["shift"])] if "shift" in placeholder else []),
    ]
    if "limits" in show:
        told.append(f"max_build_rows={placeholder['max_build_rows']:,} holds_rows={placeholder['holds_rows']:,}")
    if "ahead" in show:
        told.append(_ahead_text(placeholder["ahead"]))
    return told


def _shift_text(shift: Entry) -> str:
    """How the key is made of the column `c`, and outside of which values of it rows are kept."""
    by, low, high = shift["by"], shift["low"], shift["high"]
    key = f"c {'+' if by >= 0 else '-'} {abs(by)}" if shift["sign"] > 0 else f"{by} - c"
    ends = [
        f"{low:,} <= " if low is not None else "",
        "c" if low is not None or high is not None else "",
        f" <= {high:,}" if high is not None else "",
    ]
    kept = "".join(ends)
    return f"key={key}" + (f" for {kept}" if kept else "")


def _ahead_text(ahead: Entry) -> str:
    """What a row has before it: the figures that are not zero."""
    parts = [
        f"{name}={value:,.4g}"
        for name, value in ahead.items()
        if value and name not in ("scan_bytes", "join") and not (name == "tested" and value == 1.0)
    ]
    return f"ahead({' '.join(parts)})"


def answers_lines(answers: Sequence[Entry], separators: Sequence[str], show: Collection[str]) -> list[str]:
    """The lines of all answers; `separators` is what stands between the plans."""
    unknown = set(show) - set(SHOWN)
    if unknown:
        raise ValueError(f"show knows {', '.join(SHOWN)}, not {', '.join(sorted(unknown))}")
    lines: list[str] = []
    for number, answer in enumerate(answers):
        lines += ([separators[number - 1]] if number else []) + answer_lines(answer, show)
    return lines
