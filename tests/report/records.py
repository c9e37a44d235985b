"""Small records as the bridge keeps them of one execution, for the tests of reports."""

from __future__ import annotations

from typing import Any


def candidate(key_id: str, placeholder: str | None = None, **changed: Any) -> dict[str, Any]:
    """A candidate of a `plan` answer: planned when it has a placeholder, else skipped."""
    decided = {"decision": "planned", "reason": "PLANNED"} if placeholder else {"decision": "skipped", "reason": "KEY_TYPE"}
    named = {"build": "item.i_item_sk", "probe": "inventory.inv_item_sk", "join_type": "inner", "strategy": "broadcast"}
    return {
        "key_id": key_id,
        "join": 3,
        "pairs": [0],
        "scan": 9,
        "gate": False,
        "placeholder": placeholder,
        **named,
        **decided,
        "detail": "",
        **changed,
    }


def decision(name: str, *candidates: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {"decision": name, "ms": 2.0, "candidates": list(candidates), "error": None, **changed}


def outcome(placeholder: str, **changed: Any) -> dict[str, Any]:
    """What a `fill` answer says of one filter."""
    counts = {"keys": 204, "build_rows": 210, "packs_total": 6509, "packs_kept": 261, "rows_total": 133110000, "rows_kept": 5345280}
    words = {"kind": "set", "decision": "applied", "reason": "APPLIED", "detail": "261 of 6509 packs stay."}
    return {"id": placeholder, **words, **counts, "estimated_gain_ms": 1200.0, "push": "set", "dictionary": False, **changed}


def fill(*filters: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {"ms": 7.1, "collect_ms": 2.0, "round_trip_ms": 3.1, "filters": list(filters), "error": None, **changed}


def record(decisions: list[dict[str, Any]], fills: list[dict[str, Any]] | None = None, **changed: Any) -> dict[str, Any]:
    return {"execution": 12, "session": "s-1", "decisions": decisions, "fills": fills or [], "scans": [], "warnings": [], **changed}
