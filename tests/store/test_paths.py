"""Hadoop path texts and the local files that they name."""

from __future__ import annotations

import pytest

from rtfilter.store.paths import local_path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("file:/a/b.parquet", "/a/b.parquet"),
        ("file:///a/b.parquet", "/a/b.parquet"),
        ("/a/b.parquet", "/a/b.parquet"),
        ("FILE:/a/b", "/a/b"),
        ("file:/a/b c/x%20y=%3F.parquet", "/a/b c/x%20y=%3F.parquet"),
        ("file:/a/day=2020-01-01 00%3A00%3A00/x:y.parquet", "/a/day=2020-01-01 00%3A00%3A00/x:y.parquet"),
        ("/a:b/c", "/a:b/c"),
        ("file:/ü/名.parquet", "/ü/名.parquet"),
    ],
)
def test_local_texts_are_taken_literally(text: str, path: str) -> None:
    assert local_path(text) == path


@pytest.mark.parametrize(
    "text",
    [
        "hdfs://n:8020/a",
        "s3a://bucket/a",
        "abfss://c@a.dfs/x",
        "file://host/a",
        "//host/a",
        "a/b",
        "",
        "file:",
        "file:a",
        "file:////a",
    ],
)
def test_everything_else_is_for_the_bridge(text: str) -> None:
    assert local_path(text) is None
