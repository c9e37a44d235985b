"""The import directions of docs/architecture.md, held on the source text and once more on what really gets loaded."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPARK = ("pyspark", "py4j")
SUITES = ("tpch", "tpcds")
DRIVER_SIDE = ("rtfilter.bridge", "rtfilter.session", "rtfilter.inspection", "rtfilter.index", "rtfilter.bench", "rtfilter.cli")
# Words for sentences, which know nothing of who speaks.
FOR_ALL = ("planner.counted",)
BRIDGE_BUT_FILES = ("rtfilter.bridge.jvm", "rtfilter.bridge.jar", "rtfilter.bridge.java")
# pyspark's handles on JVM objects. Whoever uses one knows Spark's internals, and that is the bridge's part.
JVM_HANDLES = frozenset({"_jvm", "_jdf", "_jsparkSession", "_jsc", "_jconf", "_jwrapped", "_jc", "_jreader", "_gateway", "_sc"})


@dataclass(frozen=True)
class Layer:
    """A folder or module and what it must not know. `only` turns it round: nothing but these and the standard library."""

    path: str
    forbidden: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    may_touch_jvm: bool = False

    def holds(self, file: str) -> bool:
        return file == f"{self.path}.py" or file.startswith(f"{self.path}/")

    def refuses(self, module: str) -> bool:
        if is_within(module, FOR_ALL):
            return False
        if self.only is not None:
            return not is_within(module, self.only) and module.split(".")[0] not in sys.stdlib_module_names
        return is_within(module, self.forbidden)


# The planner's folders, each of which knows those before it.
PLANNER = ("inputs", "plan", "star_tree", "legality", "cost", "placement", "static", "decision")
PLANNER_WORDS = ("planner.counted", "planner.reasons", "numpy")


def planner_layers() -> Iterator[Layer]:
    yield Layer("planner/counted", only=())
    yield Layer("planner/reasons", only=())
    for number, folder in enumerate(PLANNER, 1):
        yield Layer(f"planner/{folder}", only=(*PLANNER_WORDS, *(f"planner.{known}" for known in PLANNER[:number])))
    yield Layer("planner", only=("planner", "numpy"))


LAYERS = (
    *planner_layers(),
    Layer("rtfilter/masking", only=()),
    Layer("rtfilter/errors", only=("rtfilter.errors", "rtfilter.masking")),
    Layer("rtfilter/option_texts", only=()),
    Layer("rtfilter/options", only=("rtfilter.errors", "rtfilter.option_texts", "rtfilter.options")),
    *(
        Layer(f"rtfilter/{report}", forbidden=(*SPARK, *SUITES, *DRIVER_SIDE, "planner"))
        for report in ("report", "report_digest", "report_plan", "report_table", "report_trees")
    ),
    Layer("rtfilter/store", forbidden=(*SPARK, *SUITES, *DRIVER_SIDE, "planner", "rtfilter.host")),
    Layer("rtfilter/star_tree", forbidden=(*SPARK, *SUITES, *DRIVER_SIDE, "planner", "rtfilter.host")),
    Layer("rtfilter/shapes", forbidden=(*SPARK, *SUITES, *DRIVER_SIDE, "rtfilter.host", "rtfilter.store", "rtfilter.advice")),
    Layer("rtfilter/advice", forbidden=(*SPARK, *SUITES, *DRIVER_SIDE, "planner", "rtfilter.host")),
    Layer("rtfilter/estimate", forbidden=(*SPARK, *SUITES, *DRIVER_SIDE, "rtfilter.host")),
    Layer("rtfilter/feedback", forbidden=(*SPARK, *SUITES, *DRIVER_SIDE, "rtfilter.host")),
    Layer("rtfilter/host", forbidden=(*SPARK, *SUITES, *DRIVER_SIDE)),
    # The bridge says what is there and does what it is told; who decides is on the other side of the pipe.
    Layer("rtfilter/bridge", forbidden=(*SUITES, "planner", "rtfilter.store", "rtfilter.bench"), may_touch_jvm=True),
    # Indexes are built with Spark's public API, so that any session will do; only what Python can't open comes through the bridge.
    Layer(
        "rtfilter/index",
        forbidden=(*SPARK[1:], *SUITES, "planner", *BRIDGE_BUT_FILES, "rtfilter.session", "rtfilter.bench"),
    ),
    Layer("rtfilter", forbidden=(*SUITES, "py4j")),
    Layer("tpch", forbidden=("py4j", "planner")),
    Layer("tpcds", forbidden=("py4j", "planner")),
)


def is_within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def layer_of(file: str) -> Layer:
    """The first layer that holds the file: the narrow ones stand before the wide ones."""
    return next(layer for layer in LAYERS if layer.holds(file))


def imported_modules(tree: ast.AST, file: str) -> Iterator[tuple[int, str]]:
    """Every module that a source text names in an import, relative ones resolved, with its line."""
    package = file.removesuffix(".py").split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from rtfilter import store` loads rtfilter.store, so both names count.
            yield from ((node.lineno, name) for alias in node.names for name in (base, f"{base}.{alias.name}"))
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__"):
                yield node.lineno, str(node.args[0].value)


def jvm_handles(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every use of a JVM handle that is not the object's own attribute, `getattr` with a literal name included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in JVM_HANDLES:
            if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
            yield from (
                (argument.lineno, str(argument.value))
                for argument in node.args
                if isinstance(argument, ast.Constant) and argument.value in JVM_HANDLES
            )


def violations(file: str, source: str) -> list[str]:
    """What a source text knows that its layer must not; `file` is its path from the repository's root."""
    layer, tree = layer_of(file), ast.parse(source)
    refused = [(line, f"imports {module}") for line, module in imported_modules(tree, file) if layer.refuses(module)]
    if not layer.may_touch_jvm:
        refused += [(line, f"touches {handle}") for line, handle in jvm_handles(tree)]
    return [f"{file}:{line} {what}, which {layer.path} must not" for line, what in sorted(set(refused))]


def source_files() -> list[str]:
    folders = ("planner", "rtfilter", "tpch", "tpcds")
    return sorted(path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*.py"))


def test_every_module_knows_only_what_its_layer_may_know() -> None:
    files = source_files()
    found = [line for file in files for line in violations(file, (ROOT / file).read_text(encoding="utf-8"))]
    assert "rtfilter/options.py" in files and not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("planner/a.py", "import pyarrow"),
        ("planner/a.py", "from rtfilter.errors import RtFilterError"),
        ("planner/plan/a.py", "from planner.legality.joins import open_joins"),
        ("planner/cost/a.py", "from planner import placement"),
        ("planner/decision/a.py", "from planner.questions import decide"),
        ("planner/reasons.py", "from planner.plan import tree"),
        ("planner/deep/a.py", "def f():\n    import pyspark.sql"),
        ("rtfilter/store/a.py", "from planner import placement"),
        ("rtfilter/store/a.py", "if TYPE_CHECKING:\n    from pyspark.sql import DataFrame"),
        ("rtfilter/store/a.py", "from ..bridge import launch"),
        ("rtfilter/advice/a.py", "from pyspark.sql import SparkSession"),
        ("rtfilter/store/a.py", "from .. import bridge"),
        ("rtfilter/host/__main__.py", "import pyspark"),
        ("rtfilter/host/a.py", "importlib.import_module('pyspark')"),
        ("rtfilter/bench/a.py", "from tpcds.imci_micro import SUITE"),
        ("rtfilter/cli.py", "import tpch"),
        ("rtfilter/session.py", "def f(df):\n    return df._jdf.queryExecution()"),
        ("rtfilter/session.py", "def f(spark):\n    return getattr(spark, '_jvm', None)"),
        ("rtfilter/session.py", "from py4j.java_gateway import JavaObject"),
        ("rtfilter/bench/a.py", "def f(spark):\n    return spark.sparkContext._jsc"),
        ("rtfilter/bridge/a.py", "from rtfilter.store import packs"),
        ("rtfilter/index/a.py", "from rtfilter.bridge import jvm"),
        ("rtfilter/index/a.py", "def f(spark):\n    return spark._jvm"),
        ("rtfilter/store/a.py", "from rtfilter.index import Index"),
        ("tpcds/a.py", "def f(spark):\n    return spark._jvm"),
    ],
)
def test_a_wrong_direction_is_found(file: str, source: str) -> None:
    assert len(violations(file, source)) >= 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("planner/a.py", "import json\nimport numpy as np\nfrom planner.tree import Node\nfrom .tree import Node as Same"),
        ("planner/cost/a.py", "from planner.counted import counted\nfrom planner.legality.joins import Direction"),
        ("planner/questions.py", "from planner.placement import chains"),
        ("rtfilter/store/a.py", "from planner.counted import counted"),
        ("rtfilter/store/a.py", "import pyarrow.parquet\nfrom rtfilter.errors import RtFilterError"),
        ("rtfilter/host/a.py", "import planner\nfrom rtfilter import store\nfrom rtfilter.options import Options"),
        ("rtfilter/bridge/a.py", "from pyspark.sql import SparkSession\ndef f(spark):\n    return spark._jvm"),
        ("rtfilter/session.py", "from pyspark.sql import SparkSession\nfrom rtfilter.bridge import launch"),
        ("rtfilter/index/a.py", "from pyspark.sql import SparkSession\nfrom rtfilter.store import index_files"),
        ("rtfilter/index/a.py", "from rtfilter.bridge.files import HadoopFiles"),
        ("rtfilter/bench/a.py", "from importlib.metadata import entry_points\nimport pyspark"),
        ("tpcds/imci_micro.py", "from rtfilter.bench import Suite"),
    ],
)
def test_a_right_direction_is_not_found(file: str, source: str) -> None:
    assert violations(file, source) == []


# Importing a package runs rtfilter/__init__.py first, which the source text of the package does not show.
LOAD_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(getattr(package, "__path__", []), package.__name__ + "."):
    if not module.name.endswith(".__main__"):
        importlib.import_module(module.name)
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


LOADED_WITHOUT_SPARK = (
    "planner",
    "rtfilter.options",
    "rtfilter.report",
    "rtfilter.store",
    "rtfilter.advice",
    "rtfilter.estimate",
    "rtfilter.star_tree",
    "rtfilter.shapes",
    "rtfilter.host",
)


@pytest.mark.parametrize("package", LOADED_WITHOUT_SPARK)
def test_no_pyspark_is_loaded_beside_the_bridge(package: str) -> None:
    command = [sys.executable, "-c", LOAD_ALL, package]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert not {"pyspark", "py4j"} & set(done.stdout.split())
