"""TPC-H: generated data, uniform and skewed, and the benchmark suites built on it."""
