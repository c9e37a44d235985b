"""Advice as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.counted import counted
from rtfilter.advice.advise import Advice

MOST_LINES = 10
NOT_INDEXES = "A copy in a new order is no index: its bytes are not in the budget, and its gain and that of indexes do not add up."

UNITS_OF_VOTES = {"freq": "queries", "parser": "entries that need no look", "estimate": "cost that an index on it saves"}


def advice_text(advice: Advice) -> str:
    """The items, votes, queries that nothing helps, notes, and what was skipped."""
    return "\n".join([*_items(advice), *_votes(advice), *_unserved(advice), *_notes(advice), *_read(advice)])


def _items(advice: Advice) -> Iterator[str]:
    if not advice.items:
        yield "Nothing to build."
    for item in advice.items:
        yield f"{item['rank']}. {item['kind']} on {item['table']}.{', '.join(item['columns'])}  [{item['id']}]"
        if item["kind"] == "drop":
            yield f"   index {item['index']}: {item['reason']}"
            yield f"   {item['command']}"
            continue
        kinds = counted(len(item["queries"]), "kind", "kinds")
        yield f"   saves {saved_text(item)}; {size_text(item['cost_bytes'])}; {kinds} of queries"
        yield f"   {item['reason']} Confidence {item['confidence']}{_because(item)}."
        yield f"   {item['command']}"
    if any(item["kind"] == "cluster_by" for item in advice.items):
        yield NOT_INDEXES


def _because(item: dict[str, Any]) -> str:
    if item["gain_low"] is None:
        return ": by formulas, no pack was tried"
    ends = (item["gain_low"], item["gain_high"])
    least, most = (size_text(end) if item["gain_ms"] is None else f"{end:,.0f} ms" for end in ends)
    return f": from {least} to {most}"


def saved_text(item: dict[str, Any]) -> str:
    """What an item saves, as words."""
    known = [] if item["gain_ms"] is None else [f"up to {item['gain_ms']:,.0f} ms"]
    known += [] if item["gain_bytes"] is None else [f"{size_text(item['gain_bytes'])} of reading"]
    return " and ".join(known) or "an unknown amount"


def size_text(size: float | None) -> str:
    """Bytes with a unit."""
    if size is None:
        return "size unknown"
    for unit in ("bytes", "kB", "MB", "GB"):
        if abs(size) < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"


def _votes(advice: Advice) -> Iterator[str]:
    unit = UNITS_OF_VOTES[advice.strategy]
    for table, votes in advice.votes.items():
        yield f"\nVotes for {table} ({advice.strategy}: {unit}):"
        for name, vote in votes.items():
            covered = advice.coverage.get(table, {}).get(name)
            yield f"   {name}  {vote:,.6g}" + ("" if covered is None else f"  {covered:.0%} of the queries")
        if table in advice.chosen:
            chosen = advice.chosen[table]
            yield f"   together: {', '.join(chosen['indexed']) or 'none'} indexed, sorted by {chosen['sorted'] or 'none'}"


def _unserved(advice: Advice) -> Iterator[str]:
    if advice.unserved:
        yield "\nQueries that none of this helps:"
    for query in advice.unserved[:MOST_LINES]:
        yield f"   {query['query']}  {counted(query['calls'], 'call')}  {query['shape']}"
        yield f"      {query['reason']}"
    if len(advice.unserved) > MOST_LINES:
        yield f"   and {len(advice.unserved) - MOST_LINES} more kinds (--json has all)"


def _notes(advice: Advice) -> Iterator[str]:
    if advice.notes:
        yield "\nNotes:"
    for note in advice.notes[:MOST_LINES]:
        yield f"   {note['text']}" + (f" ({counted(note['calls'], 'call')})" if "calls" in note else "")
    if len(advice.notes) > MOST_LINES:
        yield f"   and {len(advice.notes) - MOST_LINES} more (--json has all)"


def back_test_text(told: dict[str, Any]) -> str:
    """What the back-test found, as a sentence."""
    way = "by time" if told["by"] == "time" else "by the digests of its literals"
    indexes = counted(told["indexes"], "index", "indexes")
    first, second = told["calls"]
    return (
        f"Back-test, the log cut in two {way}: {indexes} advised on {first:,g} calls save {told['promised']:.1%} of their reading, "
        f"and {told['found']:.1%} of that of the other {second:,g}. The best for those save {told['possible']:.1%}."
    )


def _read(advice: Advice) -> Iterator[str]:
    read = advice.read
    if advice.back_test is not None:
        yield "\n" + back_test_text(advice.back_test)
    yield f"\nRead {counted(read['queries'], 'query', 'queries')} of {counted(read['fingerprints'], 'kind', 'kinds')}."
    if read["without_tables"]:
        yield f"   {read['without_tables']} read no table"
    for reason, skipped in read["skipped"].items():
        more = ", …" if skipped["count"] > len(skipped["first"]) else ""
        yield f"   skipped {skipped['count']}: {reason} ({', '.join(skipped['first'])}{more})"
    for note in read["notes"]:
        yield f"   {note}"
