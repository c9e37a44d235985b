"""All reason codes that the layer's sources can give, found in the sources themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("planner", "rtfilter")
# Their constants are states of an index, which are no reasons.
STATES = tuple(ROOT / "rtfilter" / "store" / name for name in ("index_files/log.py", "index_actions/made_indexes.py"))
# What takes a code first and a sentence behind it.
CARRIERS = ("Refusal", "IndexProblem", "IndexProblemError")
CODE = re.compile(r"[A-Z]+(_[A-Z]+)*")
SCALA_CODE = re.compile(r'"([A-Z]+(?:_[A-Z]+)+)"')
# Conditions of Spark's own errors.
SPARK_CONDITION = re.compile(r'getCondition == "[A-Z_]+"')


def all_codes() -> dict[str, Path]:
    """By code: the first file that has it."""
    found: dict[str, Path] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path not in STATES:
                found = {**dict.fromkeys(_in_python(path.read_text(encoding="utf-8")), path), **found}
        for path in sorted((ROOT / folder).rglob("*.scala")):
            found = {**dict.fromkeys(_in_scala(path.read_text(encoding="utf-8")), path), **found}
    return found


def _in_python(source: str) -> Iterator[str]:
    """Names that are given their own text, texts that are a reason, and what says why a query has none."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield from _assigned(node.targets[0].id, node.value)
    for part in ast.walk(tree):
        if isinstance(part, ast.Call):
            name = part.func.attr if isinstance(part.func, ast.Attribute) else getattr(part.func, "id", "")
            yield from _codes(part.args[:1] if name in CARRIERS else [])
            yield from _codes([keyword.value for keyword in part.keywords if keyword.arg == "reason"])
        elif isinstance(part, ast.Dict):
            pairs = zip(part.keys, part.values, strict=True)
            yield from _codes([value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "reason"])


def _assigned(name: str, value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Constant) and value.value == name:
        yield from _codes([value])
    # A sentence by code.
    if isinstance(value, ast.Dict) and all(isinstance(each, ast.Constant) and " " in str(each.value) for each in value.values):
        yield from _codes([key for key in value.keys if key is not None])


def _codes(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
            yield node.value


def _in_scala(source: str) -> list[str]:
    return SCALA_CODE.findall(SPARK_CONDITION.sub("", source))
