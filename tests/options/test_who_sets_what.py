"""The bridge reads options before there is a host to ask: it has the table's column "set by" a second time."""

from __future__ import annotations

import re
from pathlib import Path

from rtfilter.options import OPTIONS, PLACE, SPARK_CONF

SOURCE = Path(__file__).resolve().parents[2] / "rtfilter" / "bridge" / "scala" / "common" / "session" / "LayerOptions.scala"


def test_the_bridge_and_the_table_agree() -> None:
    text = SOURCE.read_text(encoding="utf-8")
    (places,) = re.findall(r"val Places: Set\[String\] = Set\((.*?)\)", text, re.DOTALL)
    assert set(re.findall(r'"([^"]+)"', places)) == {option.key for option in OPTIONS if option.set_by == PLACE}
    (program,) = re.findall(r'val Python = "(.*?)"', text)
    assert [program] == [option.key for option in OPTIONS if option.set_by == SPARK_CONF]


def test_every_option_that_names_a_path_is_a_place_or_a_program() -> None:
    assert all(option.set_by in (PLACE, SPARK_CONF) for option in OPTIONS if option.type == "path")
