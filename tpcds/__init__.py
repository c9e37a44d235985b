"""TPC-DS: generated data, and the benchmark suites built on it."""
