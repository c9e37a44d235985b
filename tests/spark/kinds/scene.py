"""The tables of a world in a session, and what happens to them."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import rtfilter
from rtfilter import Bloom, CMap, Histogram, Index, MinMax, ValueSet
from rtfilter.index.find import indexes_in
from tests.spark.kinds.files import FileWriter, write_by_pyarrow
from tests.spark.kinds.table_events import Event
from tests.spark.kinds.world import DataFile, Table, World, arrow_rows, ddl

SKETCH_TYPES = {"Bloom": Bloom, "ValueSet": ValueSet, "MinMax": MinMax, "Histogram": Histogram, "CMap": CMap}
# Rows of a file's pack when Spark writes a table anew.
OVERWRITTEN_PACK_ROWS = 25


class Scene:
    """Shows one world after the other; tables are folders below `folder`."""

    def __init__(self, spark: SparkSession, folder: Path, name: str) -> None:
        self.spark = spark
        self._folder = folder
        self._name = name
        self._writer = FileWriter(spark)
        self._shown: World | None = None
        self._happened: list[Event] = []
        self._database = ""
        self._count = 0
        # What writers could not do, and indexes that were refused.
        self.refused: list[str] = []
        # Letters of columns that a writer writes so that Spark does not read them, by its name and the table's types.
        self._unreadable: dict[tuple[str, tuple[str, ...]], set[str]] = {}

    @property
    def place(self) -> Path:
        return self._folder / f"{self._name}-{self._count}"

    def show(self, world: World, until: int) -> list[Event]:
        """Has the world as it is at its case `until`; returns what has happened to it, in order."""
        wanted = [event for event in world.life if event.before <= until]
        if self._shown is not world or self._happened != wanted[: len(self._happened)]:
            self._begin(world)
        for event in wanted[len(self._happened) :]:
            self._happen(world, event)
            self._happened.append(event)
        return list(self._happened)

    def close(self) -> None:
        self._end()
        self._writer.close()

    def _end(self) -> None:
        if self._database:
            self.spark.sql("use default")
            self.spark.sql(f"drop database {self._database} cascade")
            self._database = ""
        if self._shown is not None:
            shutil.rmtree(self.place, ignore_errors=True)
            self._shown = None

    def _begin(self, world: World) -> None:
        self._end()
        self._count += 1
        self._happened, self._shown = [], world
        self.spark.conf.set("spark.sql.caseSensitive", world.naming.case_sensitive)
        self.spark.conf.set("spark.sql.session.timeZone", "UTC")
        if world.own_store:
            self.spark.conf.set("rtfilter.store.location", str(self.place / "store"))
        else:
            self.spark.conf.unset("rtfilter.store.location")
        if world.by_ddl:
            self._database = f"world_{self._name}_{self._count}"
            self.spark.sql(f"create database {self._database}")
            self.spark.sql(f"use {self._database}")
        for table in world.tables:
            (self.place / table.name).mkdir(parents=True)
            for file in table.files:
                self._write_readable(world, table, file)
            self._declare(world, table)

    def rows_of(self, world: World, table: Table, file: DataFile) -> Any:
        return arrow_rows(table, file, world.naming, Random(f"{world.number} {table.name} {file.name}"))

    def _declare(self, world: World, table: Table) -> None:
        place = self.place / table.name
        columns = ddl(table, world.naming, self.rows_of(world, table, table.files[0]))
        if world.by_ddl:
            self.spark.sql(f"drop view if exists {table.name}")
            self.spark.sql(f"create table {table.name} ({columns}) using parquet location '{place}'")
        else:
            self.spark.read.schema(columns).parquet(str(place)).createOrReplaceTempView(table.name)

    def _write_readable(self, world: World, table: Table, file: DataFile) -> None:
        """Columns that Spark can't read as the world has them are left out, and are null there."""
        rows, path = self.rows_of(world, table, file), self.place / table.name / file.name
        bad = self._unreadable.setdefault((file.form.writer, tuple(table.types.values())), set())
        without = [name for name in rows.column_names if world.letter_of(name) in bad]
        writer = self._writer.write(rows.drop_columns(without), file.form, path)
        if writer in ("pyarrow", "spark"):
            return
        found = [name for name in rows.column_names if name not in without and not self._readable(world, table, rows, path, name)]
        if not found:
            return
        bad.update(letter for name in found if (letter := world.letter_of(name)))
        self.refused.append(f"{writer} can't write so that Spark reads it: {found}")
        rest = rows.drop_columns([*without, *found])
        if writer == "duckdb" or len(found) > len(rows.column_names) // 2:
            write_by_pyarrow(rows, file.form, self._without_others(path))
        else:
            self._writer.write(rest, file.form, path)

    def _readable(self, world: World, table: Table, rows: Any, path: Path, name: str) -> bool:
        """Whether Spark reads a column of a file with its type; lengths and collations do not matter."""
        columns = ddl(table, world.naming, rows.select([name]))
        for type_ in ("varchar(9)", "char(8)", "char(9)", "string collate UTF8_LCASE", "string collate UNICODE_CI"):
            columns = columns.removesuffix(type_) + ("string" if columns.endswith(type_) else "")
        try:
            self.spark.read.schema(columns).parquet(str(path.with_stem(f"{path.stem}*"))).collect()
        except Exception:
            return False
        return True

    def _without_others(self, path: Path) -> Path:
        for old in path.parent.glob(f"{path.stem}*.parquet"):
            old.unlink()
        return path

    def _happen(self, world: World, event: Event) -> None:
        table = world.table("f")
        place = self.place / "f"
        self.spark.conf.set("rtfilter.enabled", False)
        self.spark.conf.set("spark.sql.caseSensitive", world.naming.case_sensitive)
        if event.what == "added":
            self._write_readable(world, table, table.extra[event.file])
        elif event.what == "rewritten":
            old, new = table.files[event.file % len(table.files)], table.extra[2]
            self._write_readable(world, table, DataFile(old.name, new.rows, new.form))
        elif event.what == "overwritten":
            self._overwrite(world, table)
        else:
            self._on_index(world, event, place)
            return
        self._see_again(world, table)

    def _overwrite(self, world: World, table: Table) -> None:
        """The table is written anew by Spark: the rows of all but one of its first files."""
        beside = self.place / "beside"
        beside.mkdir()
        for file in table.files[1:]:
            write_by_pyarrow(self.rows_of(world, table, file), file.form, beside / file.name)
        self.spark.conf.set("parquet.block.row.count.limit", OVERWRITTEN_PACK_ROWS)
        try:
            frame = self.spark.read.parquet(str(beside)).coalesce(2)
            if world.by_ddl:
                frame.createOrReplaceTempView("beside")
                self.spark.sql("insert overwrite f select * from beside")
            else:
                frame.write.mode("overwrite").parquet(str(self.place / "f"))
        finally:
            self.spark.conf.unset("parquet.block.row.count.limit")
            shutil.rmtree(beside)

    def _see_again(self, world: World, table: Table) -> None:
        if world.by_ddl:
            self.spark.sql("refresh table f")
        else:
            columns = ddl(table, world.naming, self.rows_of(world, table, table.files[0]))
            self.spark.read.schema(columns).parquet(str(self.place / "f")).createOrReplaceTempView("f")

    def _location(self, world: World) -> str:
        return str(self.place / "store") if world.own_store else ""

    def _on_index(self, world: World, event: Event, place: Path) -> None:
        location = self._location(world)
        try:
            if event.what == "created":
                self._create(world, event, place, location)
                return
            for index in indexes_in(str(place), location):
                if event.what == "refreshed":
                    index.refresh()
                elif event.what == "optimized":
                    index.optimize()
                else:
                    index.delete()
        except rtfilter.RtFilterError as e:
            self.refused.append(f"{event.what} {event.sketches}: {type(e).__name__}: {str(e)[:300]}")

    def _create(self, world: World, event: Event, place: Path, location: str) -> None:
        """An index as the event says, but for columns of which it is refused."""
        name = f"i{sum(each.what == 'created' for each in self._happened)}"
        sketches = [SKETCH_TYPES[sketch](world.naming.real(letter)) for sketch, letter in event.sketches]
        while True:
            try:
                Index.create(None, str(place), sketches, name=name, location=location or None)
                return
            except rtfilter.IndexDefinitionError as e:
                good = [each for each in sketches if not str(e).startswith(f"{type(each).__name__}({each.column!r}")]
                if not good or len(good) == len(sketches):
                    raise
                self.refused.append(f"created {event.sketches}: {str(e)[:300]}")
                sketches = good

    def index_for_a_moment(self, world: World) -> None:
        """An index of two columns, made while a case runs."""
        location = self._location(world)
        letters = [letter for letter in ("r", "g", "v") if not world.naming.is_field(letter)]
        sketches = [ValueSet(world.naming.real(letter)) for letter in letters if letter not in world.naming.decoys]
        Index.create(None, str(self.place / "f"), sketches, name="moment", location=location or None)

    def forget_moment(self, world: World) -> None:
        location = self._location(world)
        for index in indexes_in(str(self.place / "f"), location):
            if index.name == "moment":
                index.delete()
                index.vacuum()
