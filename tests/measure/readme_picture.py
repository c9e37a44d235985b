"""The picture in README.md: row groups that the queries of the demo read, with and without the layer. No test.

python tests/measure/readme_picture.py out/demo/result.json docs/gain.svg
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from rtfilter.bench.engines.modes import OFF, RTFILTER
from rtfilter.bench.pages.charts import Bar, bars_by_mode

PAGE = Path(__file__).parents[2] / "rtfilter" / "bench" / "pages" / "report.html.j2"
NAMES = {OFF: "Spark with its defaults", RTFILTER: "with rtfilter"}
UNIT = "row groups read"


def picture(result: dict[str, Any]) -> str:
    """A drawing that needs nothing else: the colours of the report's light page, on white. Where no filter was applied all row
    groups of the table are read."""
    total = max(each["packs_total"] or 0 for each in result["queries"])
    groups: dict[str, dict[str, Bar]] = {}
    for each in result["queries"]:
        if each["mode"] in NAMES:
            read = total if each["packs_kept"] is None else each["packs_kept"]
            groups.setdefault(each["id"], {})[each["mode"]] = Bar(read, f"{read:,}")
    svg = bars_by_mode(groups, UNIT, "Row groups that the demo's queries read, in Spark with its defaults and with rtfilter")
    light = re.search(r":root \{(.*?)\n\}", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert light is not None
    for name, value in re.findall(r"(--[a-z0-9-]+): ([^;]+);", light[1]):
        svg = svg.replace(f"var({name})", value.replace('"', "'"))
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" style="background:#ffffff"'
    return svg.replace("<svg ", f"<svg {names} ", 1)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(picture(json.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")
