"""Log lines carry digests in place of literals unless the administrator wants them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from rtfilter.host.query_log import log_line
from rtfilter.report_digest import digest_of
from tests.report.records import candidate, decision, fill, outcome, record

CONDITION = "(s = zebra 7) AND (n > 4711)"
COMPUTED = "concat(k, zebra)"
SQL = "SELECT * FROM t WHERE s = 'zebra 7'"


def line(literals: bool, **changed: object) -> str:
    static = {"strategy": "static", "join_type": "", "build": CONDITION, "probe": "t.s", "detail": f"It judges {CONDITION}."}
    computed = {"build": COMPUTED, "probe": "inventory.inv_item_sk", "detail": f"{COMPUTED} has no type of keys."}
    candidates = [
        candidate("a", "d1.0"),
        candidate("b", None, **static),
        candidate("c", None, **computed),
        candidate("d", None, build="item.i_item_sk", probe="größe.`zebra`"),
    ]
    told = record([decision("d1", *candidates)], [fill(outcome("d1.0"))], **changed)
    return log_line(told, datetime.now(UTC), literals).decode()


def test_a_line_without_literals_has_digests_and_the_names_of_columns() -> None:
    text = line(False, description=SQL, warnings=["The value 'zebra' can't be cast; 4711 is too large."])
    assert "zebra" not in text and "4711" not in text
    entry = json.loads(text)
    assert entry["query"] == digest_of(SQL)
    plain, static, computed, odd = entry["filters"]
    assert (plain["build"], plain["probe"]) == ("item.i_item_sk", "inventory.inv_item_sk")
    assert plain["detail"] == "261 of 6509 packs stay." and plain["packs_kept"] == 261
    assert static["build"] == digest_of(CONDITION) and static["id"] == f"t.s <- {digest_of(CONDITION)}"
    assert static["detail"] == f"It judges {digest_of(CONDITION)}."
    assert computed["detail"] == f"{digest_of(COMPUTED)} has no type of keys."
    assert odd["probe"] == digest_of("größe.`zebra`")
    assert entry["warnings"] == [
        f"The value {digest_of(chr(39) + 'zebra' + chr(39))} can't be cast; {digest_of('4711')} is too large."
    ]


def test_equal_texts_have_equal_digests_in_every_process() -> None:
    assert digest_of("a") == "#433911c6eb0d" != digest_of("b")


def test_a_failure_s_own_words_are_digested_too() -> None:
    text = line(False, execution=12, warnings=[])
    assert json.loads(text)["query"] == "execution 12"
    failed = record([decision("d1", candidate("a", "d1.0"), error="The planner failed: KeyError: 'zebra'.")])
    assert "zebra" not in log_line(failed, datetime.now(UTC)).decode()


def test_with_literals_everything_is_as_the_report_has_it() -> None:
    text = line(True, description="SELECT 'zebra'")
    assert json.loads(text)["query"] == "SELECT 'zebra'" and CONDITION in text and COMPUTED in text


def test_literals_in_aggregates_are_digested() -> None:
    computed = "sum((CASE WHEN (s = zebra) THEN x END)) by store"
    told = {"name": "cube", "table": "t", "aggregate": computed, "computed": True, "used": False, "reason": "NOT_STORED"}
    plain = {
        **told,
        "aggregate": "sum(x) by store",
        "computed": False,
        "detail": "sum(x) needs sum(x), which the tree does not hold.",
    }
    entries = [
        {**told, "detail": f"{computed} sums an expression."},
        plain,
        {**told, "reason": "USED", "detail": "3 rows of the tree in place of 4,711 of the table."},
        {**plain, "reason": "UNREADABLE", "detail": "Where is 'zebra'?"},
    ]
    plans = [{"decision": "d1", "star_trees": entries}]
    text = log_line(record(plans), datetime.now(UTC)).decode()
    assert "zebra" not in text
    first, second, third, fourth = json.loads(text)["star_trees"]
    assert first["aggregate"] == third["aggregate"] == digest_of(computed)
    assert first["detail"] == digest_of(f"{computed} sums an expression.")
    assert (second["aggregate"], second["detail"]) == (plain["aggregate"], plain["detail"])
    assert third["detail"] == "3 rows of the tree in place of 4,711 of the table."
    assert fourth["detail"].startswith("Where is #")
    assert "zebra" in log_line(record(plans), datetime.now(UTC), literals=True).decode()
