"""Which filters a plan gets: a candidate with its reason for every key pair, a placeholder for those that can carry one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from planner.labels import label_key
from planner.legality import join_type_name, refuse_to_filter
from planner.lineage import ProbeColumn, trace_to_scan
from planner.reasons import ADAPTIVE_OFF, COST_NEVER, DUPLICATE_KEY, KIND_NOT_AVAILABLE, PLANNED, SHUFFLED_JOIN, Refusal
from planner.snapshot import (
    BROADCAST,
    LEFT,
    RIGHT,
    SHUFFLED_HASH,
    SORT_MERGE,
    Alias,
    Attribute,
    Cast,
    Exchange,
    Expression,
    Join,
    Plan,
    QueryStage,
)

# The filter kinds of this version, out of those of `rtfilter.kinds`.
AVAILABLE_KINDS = ("range", "set")
# The bridge reads it as a Java int.
LARGEST_MAX_KEYS = 2**31 - 1

_STRATEGIES = {BROADCAST: "broadcast", SHUFFLED_HASH: "shuffled_hash", SORT_MERGE: "sort_merge"}
_JOIN_TYPES = {
    "Inner": "inner",
    "Cross": "cross",
    "LeftOuter": "left_outer",
    "RightOuter": "right_outer",
    "FullOuter": "full_outer",
    "LeftSemi": "left_semi",
    "LeftAnti": "left_anti",
    "ExistenceJoin": "existence",
}


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """What the session says: `decision` starts every placeholder's id; `kinds` and `cost` as in the options of that name."""

    decision: str
    kinds: tuple[str, ...] = ("range", "set", "bloom")
    cost: str = "auto"
    max_keys: int = 1_000_000
    adaptive: bool = True
    field_id_read: bool = False

    @property
    def usable_kinds(self) -> tuple[str, ...]:
        return tuple(kind for kind in AVAILABLE_KINDS if kind in self.kinds)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A filter to come: key pair `key` of node `join` will filter `column` (an expression id) of node `scan`."""

    id: str
    join: int
    key: int
    scan: int
    column: int
    label: str
    kinds: tuple[str, ...]
    max_keys: int

    def to_dict(self) -> dict[str, object]:
        """The form of the protocol."""
        return {
            "id": self.id,
            "join": self.join,
            "key": self.key,
            "scan": self.scan,
            "column": self.column,
            "label": self.label,
            "kinds": ",".join(self.kinds),
            "max_keys": self.max_keys,
        }


@dataclass(frozen=True, slots=True)
class Candidate:
    """One key pair of one join, and what became of it. `key_id` is the same at every re-plan; copies of one join share it."""

    key_id: str
    join: int
    key: int
    placeholder: str | None
    build: str
    probe: str
    join_type: str
    strategy: str
    decision: str
    reason: str
    detail: str

    def to_dict(self) -> dict[str, object]:
        """The form of the protocol."""
        return {
            "key_id": self.key_id,
            "join": self.join,
            "key": self.key,
            "placeholder": self.placeholder,
            "build": self.build,
            "probe": self.probe,
            "join_type": self.join_type,
            "strategy": self.strategy,
            "decision": self.decision,
            "reason": self.reason,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class FilterPlan:
    """The answer to a plan."""

    placeholders: tuple[Placeholder, ...]
    candidates: tuple[Candidate, ...]

    def to_dict(self) -> dict[str, object]:
        """The form of the protocol."""
        return {
            "placeholders": [placeholder.to_dict() for placeholder in self.placeholders],
            "candidates": [candidate.to_dict() for candidate in self.candidates],
        }


@dataclass(slots=True)
class _Generation:
    """What is found so far in one walk over a plan."""

    plan: Plan
    settings: PlanSettings
    placeholders: list[Placeholder] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)


def plan_filters(plan: Plan, settings: PlanSettings) -> FilterPlan:
    """Placeholders and candidates for every join that has not started.

    Joins inside query stages and reused exchanges are left out: they were judged before their stage started, or are the same as the
    ones judged elsewhere in the plan, and nothing can be placed there.
    """
    generation = _Generation(plan, settings)
    whole_query = _refuse_query(settings)
    for join in _open_joins(plan):
        _judge_join(generation, join, whole_query)
    return FilterPlan(tuple(generation.placeholders), tuple(generation.candidates))


def _refuse_query(settings: PlanSettings) -> Refusal | None:
    if not settings.adaptive:
        return Refusal(ADAPTIVE_OFF, "spark.sql.adaptive.enabled is false: there is no moment at which a filter could be filled.")
    if settings.cost == "never":
        return Refusal(COST_NEVER, "rtfilter.cost is never: no filter is built.")
    if not settings.usable_kinds:
        return Refusal(KIND_NOT_AVAILABLE, f"rtfilter.kinds is {','.join(settings.kinds)}; this version builds range and set.")
    return None


def _open_joins(plan: Plan) -> Iterator[Join]:
    """The joins in preorder, without those below a started stage or a reused exchange."""
    stack = [0]
    while stack:
        node = plan.nodes[stack.pop()]
        if isinstance(node, QueryStage) or (isinstance(node, Exchange) and node.kind == "reused_exchange"):
            continue
        if isinstance(node, Join):
            yield node
        stack.extend(reversed(node.children))


def _judge_join(generation: _Generation, join: Join, whole_query: Refusal | None) -> None:
    probe_side = _probe_side(join)
    build_side = RIGHT if probe_side == LEFT else LEFT
    refusal = whole_query or _refuse_join(join, probe_side)
    taken: set[tuple[int, int, str]] = set()
    for key, (probe, build) in enumerate(zip(join.keys_of(probe_side), join.keys_of(build_side), strict=True)):
        build_label = label_key(generation.plan, join.child_of(build_side), build)
        outcome = refusal or _trace(generation, join, probe_side, probe, build, taken)
        placeholder = None
        if isinstance(outcome, ProbeColumn):
            placeholder = _place(generation, join, key, outcome, build_label)
            probe_label = f"{outcome.table}.{outcome.name}"
            outcome = Refusal(PLANNED, f"Filters the scan of {outcome.table} by {outcome.name} once the build side is there.")
        else:
            probe_label = label_key(generation.plan, join.child_of(probe_side), probe)
        generation.candidates.append(
            Candidate(
                key_id=_key_id(join, key),
                join=join.id,
                key=key,
                placeholder=placeholder,
                build=build_label,
                probe=probe_label,
                join_type=_JOIN_TYPES.get(join_type_name(join.join_type), join.join_type.lower()),
                strategy=_STRATEGIES[join.kind],
                decision="skipped" if placeholder is None else "planned",
                reason=outcome.reason,
                detail=outcome.detail,
            )
        )


def _probe_side(join: Join) -> str:
    """The streamed side; of a sort-merge join the side that could be filtered."""
    if join.streamed_side is not None:
        return join.streamed_side
    return LEFT if refuse_to_filter(join.join_type, LEFT, join.null_aware) is None else RIGHT


def _refuse_join(join: Join, probe_side: str) -> Refusal | None:
    if join.kind != BROADCAST:
        return Refusal(SHUFFLED_JOIN, f"{join.op} shuffles both sides; filters for shuffled joins are not in this version.")
    return refuse_to_filter(join.join_type, probe_side, join.null_aware)


def _trace(
    generation: _Generation, join: Join, probe_side: str, probe: Expression, build: Expression, taken: set[tuple[int, int, str]]
) -> ProbeColumn | Refusal:
    found = trace_to_scan(generation.plan, join.child_of(probe_side), probe, generation.settings.field_id_read)
    if isinstance(found, ProbeColumn):
        pair = (found.scan, found.column, _identity(build))
        if pair in taken:
            return Refusal(DUPLICATE_KEY, "The same pair of columns is a key of this join already.")
        taken.add(pair)
    return found


def _place(generation: _Generation, join: Join, key: int, found: ProbeColumn, label: str) -> str:
    settings = generation.settings
    placeholder = Placeholder(
        id=f"{settings.decision}.{len(generation.placeholders)}",
        join=join.id,
        key=key,
        scan=found.scan,
        column=found.column,
        label=label,
        kinds=settings.usable_kinds,
        max_keys=min(settings.max_keys, LARGEST_MAX_KEYS),
    )
    generation.placeholders.append(placeholder)
    return placeholder.id


def _key_id(join: Join, key: int) -> str:
    """Join type and both expressions, left before right: neither changes when a re-plan picks another strategy or build side."""
    return f"{join.join_type.lower()}|{_identity(join.left_keys[key])}|{_identity(join.right_keys[key])}"


def _identity(expr: Expression) -> str:
    """What an expression is, casts aside: they follow from the types."""
    while isinstance(expr, Alias | Cast):
        expr = expr.child
    return str(expr.id) if isinstance(expr, Attribute) else expr.text
