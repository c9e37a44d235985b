"""The version of the package; pyproject.toml reads it here."""

__version__ = "0.1.0"
# Of a line of the query log (docs/query-log.md). Lines without a version are of the first one, which had no shape.
LOG_VERSION = 2
