"""A statement of SQL made into a fingerprint: what it asks of each table that the statistics know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from rtfilter.advice.logs.sql_conditions import conjuncts, has_query, nodes_of, own_columns, predicate_of, rejects_null
from rtfilter.advice.logs.sql_texts import NotUnderstoodError, parsed
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.workload.fingerprints import Fingerprint, TableUse
from rtfilter.advice.workload.predicates import Predicate, all_of

_AGGREGATES = {exp.Count: "count", exp.Sum: "sum", exp.Min: "min", exp.Max: "max", exp.Avg: "avg"}


@dataclass(slots=True)
class _Source:
    """One table in a FROM clause, and what was found of it so far. `nullable`: an outer join may fill its columns with NULL."""

    alias: str
    table: TableStatistics
    nullable: bool = False
    parts: list[Predicate] = field(default_factory=list)
    columns: dict[str, None] = field(default_factory=dict)
    has_star: bool = False
    is_partial: bool = False
    strangers: dict[str, None] = field(default_factory=dict)
    join_keys: dict[str, None] = field(default_factory=dict)
    group_keys: dict[str, None] = field(default_factory=dict)

    def use(self) -> TableUse:
        return TableUse(
            table=self.table.name,
            predicate=all_of(self.parts),
            columns=None if self.has_star else tuple(sorted(self.columns)),
            is_partial=self.is_partial,
            strangers=tuple(self.strangers),
            join_keys=tuple(sorted(self.join_keys)),
            group_keys=tuple(sorted(self.group_keys)),
        )


def fingerprint_of(text: str, tables: Mapping[str, TableStatistics]) -> Fingerprint | None:
    """The fingerprint of a statement; None for one that reads no table by a query, such as SET or DELETE.

    Raises:
        NotUnderstoodError: it may mean something else to Spark than it seems.
    """
    tree = parsed(text)
    query = tree.expression if isinstance(tree, exp.Insert | exp.Create) else tree
    if isinstance(tree, exp.Command | exp.Alias) or tree.key in ("column", "identifier"):
        raise NotUnderstoodError("the parser has no tree of such a statement")
    if not isinstance(query, exp.Query) or isinstance(query, exp.Table):
        return None
    _refuse_nodes(query)
    by_name = {name.lower(): table for name, table in tables.items()}
    scopes = [_Scope(select, by_name) for select in query.find_all(exp.Select)]
    sources = [source for scope in scopes for source in scope.sources]
    top = query if isinstance(query, exp.Select) else None
    limit = query.args.get("limit")
    return Fingerprint(
        uses=tuple(source.use() for source in sources),
        aggregates=scopes[0].aggregates if top is not None and len(scopes) == 1 else (),
        plain=top is None or len(scopes) != 1 or scopes[0].plain,
        limit=int(limit.expression.name) if limit is not None and limit.expression and limit.expression.is_int else None,
        unknown_tables=tuple(sorted({name for scope in scopes for name in scope.unknown_tables})),
    )


def _refuse_nodes(query: Any) -> None:
    """What has a tree but means something else to Spark, or nothing."""
    for node in nodes_of(query):
        if isinstance(node, exp.Between) and node.args.get("symmetric"):
            raise NotUnderstoodError("Spark has no BETWEEN SYMMETRIC")
        if isinstance(node, exp.Select) and node.args.get("qualify"):
            raise NotUnderstoodError("Spark has no QUALIFY")
        if isinstance(node, exp.Anonymous) and node.name.lower() == "identifier":
            raise NotUnderstoodError("a name is computed")
        # Versions of sqlglot differ here: a node of its own, or a table of that name under an alias.
        if isinstance(node, exp.Stream):
            raise NotUnderstoodError("STREAM before a table")
        if isinstance(node, exp.Table):
            if node.args.get("pivots"):
                raise NotUnderstoodError("PIVOT makes columns that no table has")
            if node.name.lower() == "stream" and node.alias and not node.this.args.get("quoted"):
                raise NotUnderstoodError("STREAM before a table")


class _Scope:
    """One SELECT: its tables, and what it asks of them."""

    def __init__(self, select: Any, tables: Mapping[str, TableStatistics]) -> None:
        self.select, self.tables = select, tables
        self.sources: list[_Source] = []
        self.unknown_tables: list[str] = []
        # Something beside tables with statistics whose columns a bare name may mean.
        self.has_others = select.parent_select is not None or bool(select.args.get("laterals"))
        self._read_from()
        self._read_conditions()
        self._read_columns()
        self.aggregates, self.plain = self._read_results()

    def _read_from(self) -> None:
        first = self.select.args.get("from_")
        if first is not None:
            self._add(first.this, nullable=False)
        for join in self.select.args.get("joins") or ():
            side, kind = (join.side or "").upper(), (join.kind or "").upper()
            if side in ("RIGHT", "FULL"):
                for source in self.sources:
                    source.nullable = True
            self._add(join.this, nullable=side in ("LEFT", "FULL") and kind not in ("SEMI", "ANTI"))

    def _add(self, item: Any, nullable: bool) -> None:
        for nested in item.args.get("joins") or ():
            self._add(nested.this, True)
        if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier) or item.alias_column_names:
            # Not a table, or one whose columns have other names here.
            self.has_others = True
            return
        name = ".".join(part.name for part in item.parts)
        table = self.tables.get(name.lower()) or self.tables.get(item.name.lower())
        if item.name.lower() in _common_tables(item) and not item.db:
            self.has_others = True
        elif table is None:
            self.has_others = True
            self.unknown_tables.append(name)
        else:
            self.sources.append(_Source((item.alias or item.name).lower(), table, nullable))

    def _read_conditions(self) -> None:
        where = self.select.args.get("where")
        for part in conjuncts(where.this) if where is not None else ():
            self._add_condition(part, of_where=True, only=None)
        for join in self.select.args.get("joins") or ():
            for column in join.args.get("using") or ():
                for source in self.sources:
                    if (found := source.table.column(column.name)) is not None:
                        source.join_keys[found.name] = source.columns[found.name] = None
            on = join.args.get("on")
            for part in conjuncts(on) if on is not None else ():
                self._add_condition(part, of_where=False, only=self._filtered_by(join))

    def _filtered_by(self, join: Any) -> list[_Source]:
        """The sources whose rows an ON condition of a join drops before the join."""
        side, kind = (join.side or "").upper(), (join.kind or "").upper()
        alias = join.this.alias_or_name.lower()
        if side == "FULL":
            return []
        if side == "RIGHT":
            return [source for source in self.sources if source.alias != alias]
        if side == "LEFT" or kind == "ANTI":
            return [source for source in self.sources if source.alias == alias]
        return self.sources

    def _add_condition(self, part: Any, of_where: bool, only: list[_Source] | None) -> None:
        columns = own_columns(part)
        owners = [self._owner(column) for column in columns]
        sources = list({id(owner): owner for owner in owners if owner is not None}.values())
        if len(sources) != 1 or None in owners or has_query(part):
            is_key = isinstance(part, exp.EQ) or (isinstance(part, exp.In) and has_query(part))
            for column in columns if is_key and len(owners) <= 2 else ():
                if (owner := self._owner(column)) is not None:
                    owner.join_keys[self._name(column)] = None
            for source in sources:
                source.is_partial |= not (is_key and isinstance(part, exp.EQ))
            return
        (source,) = sources
        predicate = predicate_of(part, self._name)
        if predicate is None:
            return
        if any(column.table and column.table.lower() != source.alias for column in columns):
            # Fields of structs have no statistics of their own.
            source.is_partial = True
            return
        if (of_where and source.nullable and not rejects_null(predicate)) or (only is not None and source not in only):
            source.is_partial = True
            return
        source.parts.append(predicate)

    def _owner(self, column: Any) -> _Source | None:
        """The source that a column is of; None when it may be another one's."""
        if column.table:
            # With a database in front of the table's name the last part of both counts.
            named = [source for source in self.sources if source.alias == column.table.lower()]
            if len(named) == 1:
                return named[0]
            # A field of a struct is a column's.
            holding = [source for source in self.sources if source.table.column(column.table) is not None]
            return holding[0] if len(holding) == 1 and not named else None
        holding = [source for source in self.sources if source.table.column(column.name) is not None]
        if len(holding) == 1:
            return holding[0]
        return self.sources[0] if not holding and len(self.sources) == 1 and not self.has_others else None

    def _name(self, column: Any) -> str:
        owner = self._owner(column)
        if owner is None:
            return str(column.name)
        found = owner.table.column(column.name)
        if column.table and column.table.lower() != owner.alias:
            found = owner.table.column(column.table)
        if found is None:
            owner.strangers[column.name] = None
            return str(column.name)
        return found.name

    def _read_columns(self) -> None:
        for column in own_columns_of_select(self.select):
            owner = self._owner(column)
            if isinstance(column.this, exp.Star):
                for source in self.sources:
                    source.has_star |= not column.table or source.alias == column.table.lower()
            elif owner is not None:
                owner.columns[self._name(column)] = None
        for result in self.select.expressions:
            if isinstance(result, exp.Star):
                for source in self.sources:
                    source.has_star = True
        group = self.select.args.get("group")
        for key in group.expressions if group is not None else ():
            for column in own_columns(key):
                if (owner := self._owner(column)) is not None:
                    owner.group_keys[self._name(column)] = None

    def _read_results(self) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], bool]:
        group = self.select.args.get("group")
        keys = {key.sql(copy=False) for key in group.expressions} if group is not None else set()
        found, plain = [], False
        for result in self.select.expressions:
            value = result.unalias()
            kind = _AGGREGATES.get(type(value))
            if kind is not None and not value.find(exp.Distinct):
                found.append((kind, tuple(dict.fromkeys(self._name(column) for column in own_columns(value)))))
            elif value.sql(copy=False) not in keys:
                plain = True
        return tuple(found), plain


def own_columns_of_select(select: Any) -> Iterator[Any]:
    """The columns of a SELECT without those of SELECTs inside it."""
    for key, value in select.args.items():
        if key == "with_":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr):
                yield from own_columns(child)


def _common_tables(item: Any) -> set[str]:
    """The names that WITH clauses give to queries where a table stands."""
    names: set[str] = set()
    below, node = item, item.parent
    while node is not None:
        with_ = node.args.get("with_") if not isinstance(node, exp.With) else None
        if isinstance(node, exp.With):
            # Inside a WITH only what stands before is known, and itself where it is recursive.
            for each in node.expressions:
                if each is below and not node.args.get("recursive"):
                    break
                names.add(each.alias.lower())
        elif with_ is not None and below is not with_:
            names |= {each.alias.lower() for each in with_.expressions}
        below, node = node, node.parent
    return names
