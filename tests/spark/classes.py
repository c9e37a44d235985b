"""The classes of Spark's expressions, read off its jars."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

EXPRESSION = "org.apache.spark.sql.catalyst.expressions.Expression"


def expression_classes(spark: SparkSession) -> dict[str, bool]:
    """By simple name, of those that there can be objects of: whether the optimizer puts something else in its place."""
    java = spark._jvm
    assert java is not None
    base = java.java.lang.Class.forName(EXPRESSION)
    replaceable = java.java.lang.Class.forName("org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable")
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    found = {}
    for name in _class_names():
        try:
            each = java.java.lang.Class.forName(name, False, loader)
        except Py4JError:
            continue
        if base.isAssignableFrom(each) and not java.java.lang.reflect.Modifier.isAbstract(each.getModifiers()):
            found[each.getSimpleName()] = bool(replaceable.isAssignableFrom(each))
    return found


def _class_names() -> list[str]:
    """Classes and objects of Spark's SQL, without those that have no name of their own."""
    jars = Path(pyspark.__file__).parent / "jars"
    entries = [
        entry.removesuffix(".class").replace("/", ".")
        for pattern in ("spark-sql_*.jar", "spark-catalyst_*.jar")
        for jar in jars.glob(pattern)
        for entry in zipfile.ZipFile(jar).namelist()
        if entry.startswith("org/apache/spark/sql/") and entry.endswith(".class") and "$anon" not in entry
    ]
    # The companion of a class is no expression, the object of a trait (CurrentRow) may be one.
    objects = {entry for entry in entries if entry.endswith("$")}
    return sorted(set(entries) - objects | {entry for entry in objects if "CurrentRow" in entry or "Unbounded" in entry})
