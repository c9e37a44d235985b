"""What goes to the executors with an index job is whole: no module there needs one that stays behind."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def shipped() -> tuple[str, ...]:
    source = (ROOT / "rtfilter" / "index" / "spark_runner.py").read_text(encoding="utf-8")
    (names,) = re.findall(r"^_SHIPPED = (\(.*\))$", source, re.MULTILINE)
    return tuple(ast.literal_eval(names))


def files_of(name: str) -> list[Path]:
    path = ROOT / "rtfilter" / name
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def imported(file: Path) -> set[str]:
    """Parts of rtfilter below its root that a file names when it is imported, or later."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "rtfilter":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rtfilter."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("rtfilter.")}
    return found


def test_everything_that_a_shipped_module_imports_is_shipped() -> None:
    names = shipped()
    known = {name.removesuffix(".py") for name in names}
    # What `rtfilter` itself hands out is looked up only when somebody asks for it.
    files = [file for name in names if name != "__init__.py" for file in files_of(name)]
    needed = {(file.relative_to(ROOT).as_posix(), part) for file in files for part in imported(file)}
    assert {part for _, part in needed} >= {"errors", "store"}
    assert [each for each in sorted(needed) if each[1] not in known] == []
