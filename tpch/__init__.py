"""TPC-H: generated data."""
