"""`--apply` and `advice.apply`: what is named is built, the same as the command says, and nothing else."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from markupsafe import escape

import rtfilter
from rtfilter.advisor.apply import apply_items, chosen_items
from rtfilter.index import Index
from tests.advice.test_advise import answer, run, written

ROWS, PACK = 100_000, 2_000
SQL = """
    select sum(price) from sales where customer = 17;
    select sum(price) from sales where customer = 18 and item = 3;
    select sum(price) from sales where item = 4;
    select sum(price) from sales where nothing(shop) = 1;
"""


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    r = np.random.default_rng(3)
    columns = {"customer": r.integers(0, 50_000, ROWS), "item": r.integers(0, 40_000, ROWS), "shop": r.integers(0, 9, ROWS)}
    (tmp_path / "sales").mkdir()
    pq.write_table(pa.table({**columns, "price": r.random(ROWS)}), tmp_path / "sales" / "a.parquet", row_group_size=PACK)
    return tmp_path / "sales"


@pytest.fixture
def month(tmp_path: Path) -> Path:
    return written(tmp_path / "month.sql", SQL)


def names_of_indexes(table: Path) -> list[str]:
    return sorted(each.name for each in (table / "_rtfilter").glob("*")) if (table / "_rtfilter").exists() else []


def test_only_what_is_named_is_built_and_it_is_what_the_command_says(sales: Path, month: Path) -> None:
    asked = ("--sql", month, "--table", f"sales={sales}", "--budget", "100%")
    items = answer(*asked)["items"]
    built = [each for each in items if each["kind"] in ("bloom", "valueset", "histogram", "minmax", "cmap")]
    assert len(built) >= 2 and names_of_indexes(sales) == []
    second = built[1]
    found = answer(*asked, "--apply", second["id"])
    words = shlex.split(second["command"])
    name = words[words.index("--name") + 1]
    assert [(each["id"], each["built"]) for each in found["applied"]] == [(second["id"], True)]
    assert names_of_indexes(sales) == [name]
    by_api = Index.load(None, str(sales), name)
    assert run(*words[1:5], "by_hand", *words[6:]).exit_code == 0
    assert by_api.sketches == Index.load(None, str(sales), "by_hand").sketches


def test_the_text_stands_before_what_was_built(sales: Path, month: Path) -> None:
    asked = ("--sql", month, "--table", f"sales={sales}", "--budget", "100%")
    rank, id_ = next((each["rank"], each["id"]) for each in answer(*asked)["items"] if each["kind"] == "bloom")
    done = run("advise", *asked, "--apply", rank)
    assert done.exit_code == 0 and done.output.index("Read 4 queries") < done.output.index("is built")
    # What is there is not advised once more.
    again = run("advise", *asked, "--apply", id_)
    assert again.exit_code == 2 and len(names_of_indexes(sales)) == 1


@pytest.mark.parametrize("name", ["99", "feedfacefeed", "0", "-1", ""])
def test_an_item_that_is_not_there_builds_nothing_of_the_others(sales: Path, month: Path, name: str) -> None:
    asked = ("advise", "--sql", month, "--table", f"sales={sales}", "--budget", "100%")
    done = run(*asked, "--apply", "1", f"--apply={name}")
    assert done.exit_code == 2 and f"there is no item {name}" in done.output and names_of_indexes(sales) == []


def test_kinds_of_a_later_version_and_tables_without_a_place_are_refused_before_anything_is_built(sales: Path) -> None:
    item = {"kind": "bloom", "table": "sales", "columns": ["customer"], "command": "", "rank": 1, "id": "a"}
    later = {**item, "kind": "row_index", "rank": 2, "id": "b"}
    nowhere = {**item, "table": "orders", "rank": 3, "id": "c"}
    for other, text in ((later, "does not build them"), (nowhere, "--table orders=PATH")):
        with pytest.raises(rtfilter.AdviceError, match=text):
            apply_items(None, [item, other], ["a", str(other["id"])], {"sales": str(sales)}, None)
    assert names_of_indexes(sales) == []
    assert [each["id"] for each in chosen_items([item, later], [2, "a", "2"])] == ["b", "a"]
    with pytest.raises(rtfilter.AdviceError, match="only="):
        chosen_items([item], [])


def test_a_copy_needs_a_place_that_is_empty(sales: Path, tmp_path: Path) -> None:
    item = {"kind": "cluster_by", "table": "sales", "columns": ["shop"], "command": "sort it", "rank": 1, "id": "a"}
    (applied,) = apply_items(None, [item], [1], {"sales": str(sales)}, None)
    assert not applied.built and "sort it" in applied.done
    for taken in (sales, sales / "a.parquet"):
        with pytest.raises(rtfilter.AdviceError, match="not empty"):
            apply_items(None, [item], [1], {"sales": str(sales)}, str(taken))
    with pytest.raises(rtfilter.AdviceError, match="session"):
        apply_items(None, [item], [1], {"sales": str(sales)}, str(tmp_path / "new"))
    bloom = {**item, "kind": "bloom", "id": "b", "rank": 2}
    with pytest.raises(rtfilter.AdviceError, match="cluster_by; 0"):
        apply_items(None, [item, bloom], [2], {"sales": str(sales)}, str(tmp_path / "new"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["sales"] and names_of_indexes(sales) == []


def test_the_python_api_says_what_the_command_says_and_builds_the_same(sales: Path, month: Path, tmp_path: Path) -> None:
    advice = rtfilter.advise(None, {"sales": sales}, sql=month, budget="100%")
    found = answer("--sql", month, "--table", f"sales={sales}", "--budget", "100%")
    assert advice.to_dict() == found and str(advice) == repr(advice)
    first = next(each for each in advice.items if each.kind == "bloom")
    assert (first.id, first.table) == (found["items"][first.rank - 1]["id"], "sales") and advice.unserved == found["unserved"]
    assert names_of_indexes(sales) == []
    (applied,) = advice.apply([first.id])
    assert applied.built and len(names_of_indexes(sales)) == 1
    advice.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert all(item.id in page and escape(item.command) in page for item in advice.items)
    helped = [each for each in found["served"] if first.rank in each["items"]]
    assert {each["query"] for each in helped} == set(first.queries) and all(each["after"] < each["before"] for each in helped)
    assert all(f"{each['after']:.1%}" in page for each in helped)
    assert advice._repr_html_() in page and "http" not in page and "<script" not in page


def test_names_in_a_page_are_escaped(month: Path) -> None:
    stats = {"tables": {"sales": {"rows": 10, "columns": {}}, "<b>x</b>": {"rows": 10, "columns": {}}}}
    file = written(month.parent / "stats.json", stats)
    sql = written(month.parent / "other.sql", "select * from sales where `<i>a</i>` = 1")
    page = rtfilter.advise(stats=file, sql=sql).html()
    assert "<i>a" not in page and "&lt;i&gt;a" in page


def test_bad_input_of_the_api_has_one_clear_line(sales: Path, month: Path) -> None:
    for arguments, text in (
        ({}, "no queries"),
        ({"sql": month}, "no tables"),
        ({"sql": month, "tables": {"sales": sales}, "strategy": "guess"}, "'guess'"),
        ({"sql": month, "tables": {"sales": sales}, "budget": "lots"}, "'lots'"),
        ({"sql": sales / "gone.sql", "tables": {"sales": sales}}, r"gone\.sql"),
        ({"sql": month, "tables": {"sales": sales}, "stats": month}, "month.sql"),
    ):
        with pytest.raises(rtfilter.AdviceError, match=text) as raised:
            rtfilter.advise(**arguments)
        assert "\n" not in str(raised.value)
    with pytest.raises(rtfilter.IndexDefinitionError, match="gone"):
        rtfilter.advise(tables={"sales": sales / "gone"}, sql=month)


def test_quantiles_in_python(tmp_path: Path) -> None:
    lines = [{"sql": "select 1", "ms": i, "entries_in_filter": 1000 * i} for i in range(1, 10)]
    found = rtfilter.quantiles(log=written(tmp_path / "q.jsonl", lines))
    assert found["ms"]["10"] == 1 and found["ms"]["50"] == 5 and found["ms"]["95"] == 9
