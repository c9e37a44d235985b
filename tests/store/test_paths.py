"""Hadoop path texts and the local files that they name."""

from __future__ import annotations

import pytest

from rtfilter.store.parquet.paths import local_path, local_paths


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


ODD_PATHS = [
    *(
        "file:/t/a",
        "file:/t/b%20c",
        "file:///t/a",
        "file:/a",
        "file:/b",
        "file:///a",
        "file://host/t/a",
        "file://b",
        "file://c",
        "file:///",
    ),
    *(
        "/t/a",
        "/t/x:y",
        "/a",
        "//host/t/a",
        "///t/a",
        "////t/a",
        "a",
        "t/a",
        "t/x:y",
        "x:y",
        "",
        "/",
        "file:",
        "file:a",
        "FILE:/t/a",
    ),
    *("s3a://bucket/t/a", "s3a://bucket/t/b", "s3a://bucket", "hdfs:/t/a", "file:/t/", "file:/t//a", "file:/t/a=1/b"),
]


def test_many_paths_are_told_apart_as_one_is() -> None:
    for paths in (ODD_PATHS, ODD_PATHS[::-1]):
        assert local_paths(paths) == [local_path(path) for path in paths]
