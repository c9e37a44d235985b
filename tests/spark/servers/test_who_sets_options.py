"""For every option, who may set it: a session of one user's application, a client of a Thrift server, one of a Connect server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rtfilter
from rtfilter.options import OPTIONS, PLACE, SESSION, SPARK_CONF, Option
from tests.spark.cases import FACT_FILES, dim_table, fact_table, write_files
from tests.spark.servers.clients import CLIENTS
from tests.spark.servers.recorded import recorded, recording_interpreter


def value_of(option: Option, folder: Path, who: str) -> str:
    """A value of the administrator or of the client: valid, harmless and unlike the other's."""
    ours = who == "administrator"
    known = {
        "rtfilter.enabled": ("true", "true"),
        "rtfilter.kinds": ("range,set", "set"),
        "rtfilter.cost": ("always", "auto"),
        "rtfilter.keyFirst": ("always", "never"),
        "rtfilter.packs.enabled": ("true", "false"),
        "rtfilter.store.schemes": ("s3a", "gs"),
        "rtfilter.verify": ("false", "true"),
    }
    if option.key in known:
        return known[option.key][0 if ours else 1]
    if option.type == "boolean":
        return "true" if ours else "false"
    if option.type == "integer":
        return str(option.default * 2 + (0 if ours else 1))
    if option.type == "number":
        return str(option.default / (2 if ours else 4))
    assert option.type == "path", f"{option.key} is of a new type: {option.type}"
    return str(folder / f"{option.key}-of-{who}")


# A server whose administrator trusts all users.
TRUSTED = "Thrift, trusted"
NAME_PLACES = ("own session", TRUSTED)


@pytest.fixture(scope="module", params=[*CLIENTS, TRUSTED])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, dict[str, str]]:
    """What a planner host was asked for after the SparkConf and a session have each set every option, by the client."""
    folder = tmp_path_factory.mktemp("who")
    write_files(fact_table(), folder / "fact", FACT_FILES)
    write_files(dim_table(), folder / "dim", 1)
    conf = {f"spark.{each.key}": value_of(each, folder, "administrator") for each in OPTIONS}
    conf.update(rtfilter.spark_conf())
    conf["spark.rtfilter.python"] = str(recording_interpreter(folder))
    # A program that would leave a mark.
    theirs = folder / "rtfilter.python-of-client"
    theirs.write_text(f"#!/bin/sh\ntouch {folder / 'program-ran'}\n")
    theirs.chmod(0o755)
    settings = [f"SET {each.key}={value_of(each, folder, 'client')}" for each in OPTIONS]
    joined = f"parquet.`{folder / 'fact'}` f JOIN parquet.`{folder / 'dim'}` d ON k = id WHERE name IN ('n5', 'n7')"
    if request.param == TRUSTED:
        conf["spark.rtfilter.session.paths"] = "true"
    said = CLIENTS[request.param.split(",")[0]](conf, [[*settings, f"SELECT 'rows', count(*) AS n FROM {joined}"]], folder)
    assert re.findall(r"rows\D+(\d+)", said) == ["20"]
    [*_, last] = recorded(folder)
    return request.param, folder, last


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_who_sets_it(asked: tuple[str, Path, dict[str, str]], option: Option) -> None:
    client, folder, last = asked
    ours, theirs = (value_of(option, folder, who) for who in ("administrator", "client"))
    if option.set_by == SPARK_CONF:
        # It is no part of a request. The host that was asked is the administrator's, and the other program was never run.
        assert option.key not in last and not (folder / "program-ran").exists()
        return
    counts = theirs if option.set_by == SESSION or client in NAME_PLACES else ours
    assert last[option.key] == counts


def test_a_client_of_a_server_makes_no_file(asked: tuple[str, Path, dict[str, str]]) -> None:
    client, folder, _ = asked
    made = [each.key for each in OPTIONS if each.set_by == PLACE and Path(value_of(each, folder, "client")).exists()]
    administrators = [
        each.key for each in OPTIONS if each.set_by == PLACE and Path(value_of(each, folder, "administrator")).exists()
    ]
    assert "rtfilter.log.path" in (made if client in NAME_PLACES else administrators)
    assert client in NAME_PLACES or made == []


def test_the_words_of_the_table_are_known() -> None:
    assert {each.set_by for each in OPTIONS} == {SESSION, PLACE, SPARK_CONF}
