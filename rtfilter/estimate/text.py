"""An estimate as one screen of text."""

from __future__ import annotations

from collections.abc import Iterator

from planner.counted import counted
from rtfilter.estimate.estimate import Estimate, JoinGain
from rtfilter.estimate.gains import Range

MOST_JOINS, MOST_OTHERS = 10, 6


def estimate_text(found: Estimate) -> str:
    return "\n".join([*_head(found), *_joins(found), *_others(found), *_unread(found), *_next(found)])


def _head(found: Estimate) -> Iterator[str]:
    spark = f" of Spark {', '.join(sorted(found.versions))}" if found.versions else ""
    yield (
        f"{counted(found.reading.queries, 'query', 'queries')}{spark}, {_time(found.queries_ms)} in all, "
        f"{counted(found.all_joins, 'join')}."
    )
    if not found.joins:
        yield "rtfilter would gain nothing here."
        return
    least, most = found.total.least, found.total.most
    of_all = found.queries_ms or 1
    share = f"{least / of_all:.0%} to {most / of_all:.0%}" if least >= 1 else f"{most / of_all:.0%}"
    yield f"rtfilter would save {_times(found.total)} ({share}) and {_sizes(found.total_bytes)} of reading."


def _joins(found: Estimate) -> Iterator[str]:
    for number, each in enumerate(found.joins[:MOST_JOINS], 1):
        calls = f", {each.calls} calls" if each.calls > 1 else ""
        yield f"\n{number}. {each.query}{calls}: {each.table}.{each.column} = {each.build}"
        yield f"   saves {_times(each.ms)} of {_time(each.query_ms)}, {_sizes(each.bytes)} of reading"
        yield f"   {_rows(each)}"
        yield f"   {each.why}"
    if len(found.joins) > MOST_JOINS:
        yield f"\nand {counted(len(found.joins) - MOST_JOINS, 'more join')} (--json has all)"


def _rows(each: JoinGain) -> str:
    joined = "how many have a partner is not known" if each.rows_joined is None else f"{each.rows_joined:,} out of the join"
    return f"{each.rows_scanned:,} rows scanned, {each.rows_in:,} into the join, {joined}"


def _others(found: Estimate) -> Iterator[str]:
    if found.refused:
        yield "\nJoins that would not gain:"
    for reason, count in list(found.refused.items())[:MOST_OTHERS]:
        yield f"   {count:>4}  {reason}"


def _unread(found: Estimate) -> Iterator[str]:
    skipped = found.reading.skipped
    if found.unreadable or skipped or found.reading.notes:
        yield "\nNot read:"
    for name, why in list(found.unreadable.items())[:MOST_OTHERS]:
        yield f"   table {name}: {why}"
    for reason, each in sorted(skipped.items()):
        yield f"   {each.count}: {reason} ({', '.join(each.places)}{', …' if each.count > len(each.places) else ''})"
    for note in found.reading.notes:
        yield f"   {note}"


def _next(found: Estimate) -> Iterator[str]:
    yield "\nNext:"
    if found.unreadable:
        yield "   --table NAME=PATH for each table that was not read: the ranges become narrower"
    if found.joins:
        yield "   spark = rtfilter.configure(SparkSession.builder).getOrCreate()"
        yield '   spark.conf.set("rtfilter.enabled", True)'
        yield "   and rtfilter.last_report(spark) behind a query says what each filter did"
    else:
        yield "   rtfilter advise --event-log …  says which index or order would help queries without joins"


def _times(found: Range) -> str:
    return _range(_time(found.least), _time(found.most), found.least < 1)


def _time(ms: float) -> str:
    return f"{ms:,.0f} ms" if ms < 10_000 else f"{ms / 1000:,.1f} s" if ms < 600_000 else f"{ms / 60_000:,.0f} min"


def _sizes(found: Range) -> str:
    return _range(_size(found.least), _size(found.most), found.least < 1)


def _range(least: str, most: str, from_nothing: bool) -> str:
    return most if least == most else f"up to {most}" if from_nothing else f"{least} to {most}"


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
