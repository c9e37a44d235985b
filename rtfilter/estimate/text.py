"""An estimate as one screen of text."""

from __future__ import annotations

from collections.abc import Iterator

from planner.counted import counted
from rtfilter.estimate.estimate import Estimate, JoinGain
from rtfilter.estimate.gains import Range

MOST_JOINS, MOST_OTHERS = 5, 5


def estimate_text(found: Estimate) -> str:
    return "\n".join([*_head(found), *_joins(found), *_maybe(found), *_others(found), *_unread(found), *_next(found)])


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
    sure = [each for each in found.joins if each.is_sure]
    for number, each in enumerate(sure[:MOST_JOINS], 1):
        yield f"\n{number}. {_named(each)}"
        yield f"   saves {_times(each.ms)} of {_time(each.query_ms)}, {_sizes(each.bytes)} of reading"
        yield f"   {_rows(each)}"
        yield f"   {each.why}"
    if len(sure) > MOST_JOINS:
        yield f"\nand {counted(len(sure) - MOST_JOINS, 'more join')} (--json has all)"


def _maybe(found: Estimate) -> Iterator[str]:
    """A line for each join whose gain depends on what nobody knows from here."""
    maybe = sorted((each for each in found.joins if not each.is_sure), key=lambda each: -each.ms.most)
    if maybe:
        yield "\nJoins that may gain, if rows without a partner lie together or other filters leave them:"
    for each in maybe[:MOST_OTHERS]:
        yield f"   {_named(each)}: up to {_time(each.ms.most)} of {_time(each.query_ms)}"
    if len(maybe) > MOST_OTHERS:
        yield f"   and {counted(len(maybe) - MOST_OTHERS, 'more join')} (--json has all)"


def _named(each: JoinGain) -> str:
    calls = f", {each.calls} calls" if each.calls > 1 else ""
    return f"{each.query}{calls}: {each.table}.{each.column} = {each.build}"


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
