"""Runtime filters for Spark: the keys of a join's build side decide which Parquet row groups of the probe side are opened.

spark = rtfilter.configure(SparkSession.builder.appName("job")).getOrCreate()
spark.conf.set("rtfilter.enabled", True)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rtfilter.version import __version__

if TYPE_CHECKING:
    from rtfilter.advisor.advise import advise, quantiles
    from rtfilter.errors import (
        AdviceError,
        BenchError,
        CalibrationError,
        IndexDefinitionError,
        IndexStateError,
        IndexStorageError,
        JarBuildError,
        JavaNotFoundError,
        NotConfiguredError,
        OptionError,
        ProtocolError,
        QueryLogError,
        ResultMismatchError,
        RtFilterError,
        UnsupportedSparkError,
    )
    from rtfilter.index.api import Index
    from rtfilter.index.find import indexes, star_trees
    from rtfilter.index.star_tree_api import StarTree
    from rtfilter.inspection import explain, last_report, why_not
    from rtfilter.session import attach, configure, prune, pruned, spark_conf
    from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, ValueSet

# Looked up at first use: the planner host imports this package too, and must not wait for pyspark.
_HOMES = {
    "rtfilter.session": ("attach", "configure", "prune", "pruned", "spark_conf"),
    "rtfilter.inspection": ("explain", "last_report", "why_not"),
    "rtfilter.index.api": ("Index",),
    "rtfilter.index.find": ("indexes", "star_trees"),
    "rtfilter.index.star_tree_api": ("StarTree",),
    "rtfilter.store.sketches.kinds": ("Bloom", "CMap", "Histogram", "MinMax", "ValueSet"),
    "rtfilter.advisor.advise": ("advise", "quantiles"),
    "rtfilter.errors": (
        "AdviceError",
        "BenchError",
        "CalibrationError",
        "IndexDefinitionError",
        "IndexStateError",
        "IndexStorageError",
        "JarBuildError",
        "JavaNotFoundError",
        "NotConfiguredError",
        "OptionError",
        "ProtocolError",
        "QueryLogError",
        "ResultMismatchError",
        "RtFilterError",
        "UnsupportedSparkError",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AdviceError",
    "BenchError",
    "Bloom",
    "CMap",
    "CalibrationError",
    "Histogram",
    "Index",
    "IndexDefinitionError",
    "IndexStateError",
    "IndexStorageError",
    "JarBuildError",
    "JavaNotFoundError",
    "MinMax",
    "NotConfiguredError",
    "OptionError",
    "ProtocolError",
    "QueryLogError",
    "ResultMismatchError",
    "RtFilterError",
    "StarTree",
    "UnsupportedSparkError",
    "ValueSet",
    "__version__",
    "advise",
    "attach",
    "configure",
    "explain",
    "indexes",
    "last_report",
    "prune",
    "pruned",
    "quantiles",
    "spark_conf",
    "star_trees",
    "why_not",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'rtfilter' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value
