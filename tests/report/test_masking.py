"""Secrets in URIs are in nothing that is shown or logged, and no more than they is left out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import rtfilter.masking
from rtfilter.errors import IndexStorageError
from rtfilter.host.frames import Frame
from rtfilter.host.query_log import log_line
from rtfilter.host.requests import Requests
from rtfilter.host.server import _answer
from rtfilter.masking import without_secrets
from tests.report.records import candidate, decision, record

SCALA = Path(rtfilter.masking.__file__).parent / "bridge" / "scala" / "common" / "session" / "Masking.scala"
MASKED = {
    "s3a://KEY:SECRET@bucket/table": "s3a://***@bucket/table",
    "can't list s3a://KEY:SE+CR=ET@bucket/t: denied": "can't list s3a://***@bucket/t: denied",
    "https://TOKEN@host/a and hdfs://me@host:8020/b": "https://***@host/a and hdfs://***@host:8020/b",
    "https://a.blob.host/c/f.parquet?sv=1&sig=SECRET%3D": "https://a.blob.host/c/f.parquet?***",
    '{"detail":"wasbs://c@a.host/x?sig=SECRET","n":1}': '{"detail":"wasbs://c@a.host/x?***","n":1}',
    "'s3://KEY:SECRET@b/x?versionId=SECRET'": "'s3://***@b/x?***'",
}
KEPT = (
    "abfss://container@account.host/table",
    "file:/data/a@b?c",
    "file:///data/a@b",
    "s3a://bucket/at@home",
    "who? me@home",
    "a://b/c d?e",
)


@pytest.mark.parametrize("text", [*MASKED, *KEPT])
def test_secrets_are_masked_and_nothing_else(text: str) -> None:
    assert without_secrets(text) == MASKED.get(text, text)


def test_spark_s_log_is_masked_by_the_same_rules() -> None:
    source = SCALA.read_text(encoding="utf-8")
    ours = [rtfilter.masking._USER_INFO.pattern, rtfilter.masking._QUERY.pattern]
    assert re.findall(r'"""(.*)"""\.r', source) == ours


def test_errors_answers_and_log_lines_are_masked() -> None:
    secret, shown = next(iter(MASKED.items()))
    assert str(IndexStorageError(f"can't list {secret}.")) == f"can't list {shown}."
    answer = b"".join(_answer(Requests(), Frame({"id": 1, "op": secret})))
    assert b"SECRET" not in answer and shown.encode() in answer
    told = record([decision("d1", candidate("c", None, detail=f"can't list {secret}."))], warnings=[f"no {secret}"])
    for literals in (False, True):
        line = log_line(told, datetime.now(UTC), literals)
        assert b"SECRET" not in line and line.count(shown.encode()) == 2
