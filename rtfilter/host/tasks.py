"""The answer to `tasks`: how shuffles that filters made smaller are cut."""

from __future__ import annotations

from planner.decision.shuffle_tasks import CutAlike, ReadShuffle, cut_again
from rtfilter.host.fills import Message
from rtfilter.host.frames import Frame


def answer_tasks(frame: Frame) -> Message:
    """For each group of shuffles the ranges of reducers, null where Spark's own cut stays."""
    cores = int((frame.json.get("spark") or {}).get("cores", 1))
    cuts = (cut_again(_parse(group), cores) for group in frame.json["groups"])
    return {"groups": [None if cut is None else {"ranges": cut} for cut in cuts]}


def _parse(group: Message) -> CutAlike:
    shuffles = tuple(ReadShuffle(item["bytes"], item["rows"], _dropped(item["filters"])) for item in group["shuffles"])
    return CutAlike(shuffles, tuple(group["reducer_bytes"]), group["tasks"], group["advisory_bytes"])


def _dropped(filters: list[Message]) -> int:
    """Rows that filters dropped one by one, in batches and with packs; packs are taken to be as large as those that were read."""
    rows: int = sum(each["rows_dropped"] for each in filters if "rows_dropped" in each)
    return rows + sum(map(_dropped_by_scan, filters))


def _dropped_by_scan(scan: Message) -> int:
    packs: int = scan.get("packs_read") or 0
    if not packs:
        return 0
    skipped: int = scan.get("rows_skipped") or 0
    read: int = scan["numOutputRows"] + skipped
    unread: int = scan["packs_total"] - packs
    return skipped + read * unread // packs
