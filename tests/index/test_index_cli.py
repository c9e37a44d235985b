"""`rtfilter index`: what it prints, and how errors end it."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rtfilter.cli import main
from tests.index.tables import write_part

# click 8.1 puts both outputs into one where it is not told otherwise; 8.2 has no such choice any more.
APART: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_part(tmp_path / "t", "p0.parquet", 0)
    return tmp_path / "t"


def run(*arguments: object) -> Result:
    return CliRunner(**APART).invoke(main, ["index", *map(str, arguments)])


def create(table: Path) -> Result:
    return run("create", table, "--name", "i", "--minmax", "a", "--bloom", "a", "--bloom", "s", "--cmap", "s", "--json")


def test_create_prints_what_it_has_done_as_json_and_progress_elsewhere(table: Path) -> None:
    result = create(table)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert (said["state"], said["files"], said["packs"], said["problems"]) == ("ACTIVE", 1, 5, {})
    assert "1/1 sketched" in result.stderr


def test_list_and_show_tell_of_sketches_and_coverage(table: Path) -> None:
    assert run("list", table).stdout == "no index\n"
    create(table)
    write_part(table, "p1.parquet", 50)
    listed = json.loads(run("list", table, "--json").stdout)
    assert [each["name"] for each in listed] == ["i"]
    shown = json.loads(run("show", table, "--name", "i", "--json").stdout)
    assert shown == listed[0] and shown["files_appended"] == 1
    assert "bloom(s)" in run("list", table).stdout
    assert "files appended: 1" in run("show", table, "--name", "i").stdout


def test_every_action_has_its_command(table: Path) -> None:
    create(table)
    write_part(table, "p1.parquet", 50)
    for arguments, expected in (
        (("refresh",), {"state": "ACTIVE", "files": 1}),
        (("refresh", "--mode", "quick"), {"files": 0, "files_appended": 0, "files_changed": 0, "files_deleted": 0}),
        (("optimize",), {"segments": 1}),
        (("delete",), {"state": "DELETED"}),
        (("restore",), {"state": "ACTIVE"}),
        (("cancel",), {"state": "ACTIVE"}),
        (("delete",), {"state": "DELETED"}),
        (("vacuum",), {"state": "DOES_NOT_EXIST"}),
    ):
        result = run(arguments[0], table, "--name", "i", *arguments[1:], "--json")
        assert result.exit_code == 0, (arguments, result.output)
        said = json.loads(result.stdout)
        assert {key: said[key] for key in expected} == expected, arguments


def test_a_quick_refresh_says_what_it_noted(table: Path) -> None:
    create(table)
    write_part(table, "p1.parquet", 50)
    write_part(table, "p2.parquet", 50)
    assert "files appended 2, files changed 0, files deleted 0" in run("refresh", table, "--name", "i", "--mode", "quick").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "--name", "i"), "--minmax, --bloom, --cmap, --value-set or --histogram"),
        (("create", "--name", "i", "--minmax", "b"), "has no column 'b'"),
        (("create", "--name", "../i", "--minmax", "a"), "can't be the name"),
        (("show", "--name", "j"), "has no index 'j'"),
    ],
)
def test_an_error_is_one_line_and_status_2(table: Path, arguments: tuple[str, ...], words: str) -> None:
    result = run(arguments[0], table, *arguments[1:])
    assert result.exit_code == 2 and words in result.stderr and "Traceback" not in result.output


def test_a_file_that_can_not_be_read_is_named_on_stderr(table: Path) -> None:
    (table / "p1.parquet").write_bytes(b"PAR1 this is no Parquet file PAR1")
    result = create(table)
    assert result.exit_code == 0 and "p1.parquet is not indexed" in result.stderr
    assert len(json.loads(result.stdout)["problems"]) == 1
