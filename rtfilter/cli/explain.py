"""`rtfilter explain` and `rtfilter whynot`: what the layer would do for a query, without running it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rtfilter.cli.output import json_option, print_json, working
from rtfilter.cli.table_paths import table_paths
from rtfilter.errors import BenchError, RtFilterError, first_line

Option = Callable[[Callable[..., Any]], Callable[..., Any]]
sql_option: Option = click.option("--sql", required=True, metavar="FILE_OR_TEXT", help="Spark SQL, or a file that holds it.")
table_option: Option = click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME=PATH",
    help="A table of the query: Parquet file or directory. May be repeated.",
)


@click.command()
@sql_option
@table_option
@json_option
def explain(sql: str, tables: tuple[str, ...], as_json: bool) -> None:
    """Show the runtime filters that a query would get: where, which kind, and what they would gain; and the star-trees that would
    answer its aggregates. Runs nothing.

    \b
    Example
      rtfilter explain --sql "select count(*) from sales join item on s_item = i_item" \\
                       --table sales=data/sales --table item=data/item.parquet
    """
    from rtfilter.inspection import explain as planned_filters

    _describe(sql, tables, as_json, planned_filters)


@click.command()
@sql_option
@table_option
@json_option
def whynot(sql: str, tables: tuple[str, ...], as_json: bool) -> None:
    """Show every join key of a query, and for those without a runtime filter the reason; for every aggregate and star-tree the
    first check that fails. Runs nothing."""
    from rtfilter.inspection import why_not

    _describe(sql, tables, as_json, why_not)


def _describe(sql: str, tables: tuple[str, ...], as_json: bool, describe: Callable[[Any], Any]) -> None:
    text, paths = _query_text(sql), table_paths(tables)
    with working("starts Spark and plans the query"):
        answer = _plan_in_spark(text, paths, describe)
    if as_json:
        print_json(answer.to_dict())
    else:
        click.echo(str(answer))


def _plan_in_spark(sql: str, paths: dict[str, str], describe: Callable[[Any], Any]) -> Any:
    from rtfilter.bench.engines.spark_session import start_session

    spark = start_session("rtfilter explain")
    # What a table's reader can't read is told in one line; Spark would log the failed task before.
    spark.sparkContext.setLogLevel("OFF")
    try:
        for name, path in paths.items():
            spark.read.parquet(path).createOrReplaceTempView(name)
        spark.conf.set("rtfilter.enabled", True)
        return describe(spark.sql(sql))
    except RtFilterError:
        raise
    except Exception as error:  # Spark's analysis and file errors; their first line says what is wrong
        raise BenchError(first_line(error)) from error
    finally:
        spark.stop()


def _query_text(sql: str) -> str:
    try:
        is_file = Path(sql).is_file()
    except (OSError, ValueError):  # too long for a file name: it is the query itself
        is_file = False
    text = Path(sql).read_text(encoding="utf-8") if is_file else sql
    if not is_file and not any(character.isspace() for character in sql.strip()):
        raise click.BadParameter(f"{sql!r} is neither a file nor a query.", param_hint="--sql")
    return text.strip().rstrip(";")
