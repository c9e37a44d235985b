"""The benchmark side: suites' data and queries, interleaved runs in several modes, result.json and report.html.

Suites (`tpch/`, `tpcds/`) import this package and are found through the entry point group `rtfilter.suites`.
"""

from rtfilter.bench.suites.data_cache import DataCache, Dataset
from rtfilter.bench.suites.suite import DataRequest, Query, Suite, SuiteData

__all__ = ["DataCache", "DataRequest", "Dataset", "Query", "Suite", "SuiteData"]
