"""Inside a package: its folders import one way only, and each is short enough to be read as a list."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.repo.test_layers import imported_modules

ROOT = Path(__file__).resolve().parents[2]
# Each folder imports only from those that stand before it. What lies beside the folders may import all of them.
FOLDERS_IN_ORDER = {
    "rtfilter/advice": (
        "workload",
        "statistics",
        "logs",
        "event_files",
        "event_logs",
        "votes",
        "sampled",
        "trials",
        "packs",
        "tried",
    ),
    "rtfilter/bench": ("suites", "engines", "run", "figures", "pages"),
    "rtfilter/store": (
        "parquet",
        "bounds",
        "footer_cache",
        "tables",
        "sketches",
        "index_files",
        "index_reading",
        "index_actions",
        "remote",
    ),
}
MOST_FILES = {"rtfilter/advice": 12, "rtfilter/bench": 16, "rtfilter/bridge/scala": 12, "rtfilter/store": 16}


def against_the_order(package: str, file: str, source: str) -> list[str]:
    """Imports of a text in one of the package's folders that lead to a later folder, or to what lies beside the folders."""
    order = FOLDERS_IN_ORDER[package]
    folder = file.removeprefix(f"{package}/").split("/")[0]
    if folder not in order:
        return []
    root = package.replace("/", ".")
    before = tuple(f"{root}.{each}" for each in order[: order.index(folder) + 1])
    return [
        f"{file}:{line} imports {module}, which does not stand before {folder}/"
        for line, module in sorted(set(imported_modules(ast.parse(source), file)))
        if module.startswith(f"{root}.") and not any(module == each or module.startswith(f"{each}.") for each in before)
    ]


@pytest.mark.parametrize("package", FOLDERS_IN_ORDER)
def test_folders_import_one_way(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    folders = {path.parent.name for path in files if path.parent.parent == ROOT / package}
    assert folders == set(FOLDERS_IN_ORDER[package]), "a folder without a place in the order"
    found = [
        line for path in files for line in against_the_order(package, path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


def test_a_wrong_direction_is_found() -> None:
    wrong = "from rtfilter.bench.run.judge import difference\nfrom rtfilter.bench import benchmark"
    assert len(against_the_order("rtfilter/bench", "rtfilter/bench/engines/a.py", wrong)) == 3
    right = "from rtfilter.bench.suites.suite import Query\nfrom rtfilter.bench.engines import modes\nimport rtfilter.options"
    assert against_the_order("rtfilter/bench", "rtfilter/bench/engines/a.py", right) == []
    assert against_the_order("rtfilter/bench", "rtfilter/bench/benchmark.py", wrong) == []


@pytest.mark.parametrize("root", MOST_FILES)
def test_a_folder_is_short(root: str) -> None:
    folders = [folder for folder in [ROOT / root, *(ROOT / root).rglob("*")] if folder.is_dir() and folder.name != "__pycache__"]
    counts = {
        folder.relative_to(ROOT).as_posix(): sum(each.name != "__pycache__" for each in folder.iterdir()) for folder in folders
    }
    assert len(counts) > 1
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES[root]} == {}
