"""One line of what went wrong, whoever raised it."""

from __future__ import annotations

import pytest

from rtfilter.errors import first_line


class FromJava(Exception):
    """As Py4J's Py4JJavaError: its own text names the call, and Java's exception is beside it."""

    def __init__(self, message: str | None) -> None:
        super().__init__("An error occurred while calling o43.parquet.\n: a stack")
        self.java_exception = self
        self._message = message

    def getMessage(self) -> str | None:
        return self._message


class GoneJava(FromJava):
    def getMessage(self) -> str | None:
        raise ConnectionError("the JVM is gone")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("one\ntwo"), "one"),
        (ValueError(), "ValueError"),
        (FromJava("t is no Parquet file\nat x"), "t is no Parquet file"),
        (FromJava(None), "An error occurred while calling o43.parquet."),
        (GoneJava(None), "An error occurred while calling o43.parquet."),
    ],
)
def test_the_first_line_says_what_went_wrong(error: Exception, line: str) -> None:
    assert first_line(error) == line
