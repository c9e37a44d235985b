"""What a row of a scan costs and has before it: said when a filter is planned, kept by the bridge, used again at the fill."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class RowWork:
    """What a row of a scan costs and has before it on the way to the join of a filter, and in that join.

    All are averages over the rows that the scan reads. `scan_bytes`: what is decoded of a row. `tested`: the share of rows that the
    scan's own conditions leave, 0 to 1. `shuffle_bytes`, `sorts`, `groups`: bytes that are shuffled, and how often a row is sorted
    and aggregated; `probes`, `row_probes`: how often it is looked up in other joins, by one whole number and by a row of keys;
    `own_probes`, `own_row_probes`: the same in the filter's join; `broadcasts`, `broadcast_bytes`: how often, and with how many
    bytes, it becomes part of a broadcast. `kept`: the share of rows with a partner that was expected at planning,
    `wait_ms` what filling was expected to cost by waiting, by a job of its own and by asking. `spared_ns`: core time that a row of
    the scan, with a partner or without one, has no more before it since the scan waited. `join`: the filter's, by its number.
    `key_share`: the share of the scan's rows that each key let through on average in an earlier query; None where nobody knows.
    """

    scan_bytes: float = 8.0
    tested: float = 1.0
    shuffle_bytes: float = 0.0
    sorts: float = 0.0
    probes: float = 0.0
    row_probes: float = 0.0
    own_probes: float = 0.0
    own_row_probes: float = 0.0
    groups: float = 0.0
    broadcasts: float = 0.0
    broadcast_bytes: float = 0.0
    kept: float | None = None
    wait_ms: float = 0.0
    spared_ns: float = 0.0
    join: int | None = None
    key_share: float | None = None

    def to_dict(self) -> dict[str, float | int | None]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def has_work_ahead(self) -> bool:
        """Whether there is anything but the filter's own join."""
        return any((self.shuffle_bytes, self.sorts, self.probes, self.row_probes, self.groups, self.broadcasts))

    @property
    def looks_up(self) -> bool:
        """Whether any row gets to the filter's own join."""
        return self.own_probes > 0 or self.own_row_probes > 0
