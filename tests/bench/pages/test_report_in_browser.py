"""report.html as a browser lays it out, on a wide screen and on a phone; leaves a picture of each.

Skipped where there is no Chromium: on Debian and Ubuntu `apt-get install chromium` brings one, and `.ci/run` does so.
"""

from __future__ import annotations

import dataclasses
import html as entities
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rtfilter.bench.figures.result import Result
from rtfilter.bench.pages.figure_texts import ms_text, packs_text
from rtfilter.bench.pages.report_page import render_report
from rtfilter.bench.suites.suite import Query
from tests.bench.pages.test_report import FILTER, finished
from tests.bench.suites.test_demo import shown

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")
HEIGHT = 900
# What a card's drawing has to fill of its width, and of its height.
LEAST_FILLED = 0.6

LOOK = """<script>
const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
const meet = (a, b) => Math.min(a[2], b[2]) - Math.max(a[0], b[0]) > 1 && Math.min(a[3], b[3]) - Math.max(a[1], b[1]) > 1;
const found = {overlaps: [], outside: [], sparse: []};
for (const svg of document.querySelectorAll("svg")) {
  const texts = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim()), whole = box(svg);
  texts.forEach((a, i) => {
    const mine = box(a);
    if (mine[0] < whole[0] - 2 || mine[2] > whole[2] + 2) found.outside.push(a.textContent);
    texts.slice(i + 1).forEach(b => { if (meet(mine, box(b))) found.overlaps.push([a.textContent, b.textContent]); });
  });
  const card = box(svg.closest("section"));
  const filled = [(whole[2] - whole[0]) / (card[2] - card[0]), (whole[3] - whole[1]) / (card[3] - card[1])];
  if (Math.min(...filled) < LEAST) found.sparse.push([svg.getAttribute("aria-label"), ...filled]);
}
found.columns = [...document.querySelectorAll(".pair > div")].map(e => Math.round(box(e)[3]));
found.wider = document.documentElement.scrollWidth > window.innerWidth;
found.first = Math.max(0, ...[...document.querySelectorAll(".lead, .tile")].map(e => box(e)[3]));
found.tiles = [...document.querySelectorAll(".tile")].map(e => Math.round(box(e)[2]));
document.body.innerHTML = "<pre id=found></pre>";
document.getElementById("found").textContent = JSON.stringify(found);
</script></body>"""


def many() -> Result:
    """Queries without a selectivity, too many for a bar each, with gains that lie close together."""
    result = finished(("off", "spark", "rtfilter"), queries=tuple(Query(f"Q{n}", "select 1", "", ("a", "b")) for n in range(40)))
    measured = []
    for number, each in enumerate(result.measurements):
        ms = tuple(ms * (0.5 + 0.01 * (number % 37)) for ms in each.ms)
        gain = {**FILTER, "estimated_gain_ms": 40.0 + number % 5, "packs_kept": 4, "packs_total": 100}
        last = dataclasses.replace(each.last, filters=[gain] if each.mode == "rtfilter" else [])
        measured.append(dataclasses.replace(each, ms=ms, last=last))
    return dataclasses.replace(result, measurements=tuple(measured))


def ran(page: Path, width: int, *arguments: str) -> str:
    assert CHROMIUM is not None
    given = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={page.parent / 'profile'}"]
    command = [CHROMIUM, *given, f"--window-size={width},{HEIGHT}", *arguments, page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def look(html: str, folder: Path, width: int) -> dict[str, Any]:
    """Where things are on the page."""
    page = folder / "look.html"
    page.write_text(html.replace("</body>", LOOK.replace("LEAST", str(LEAST_FILLED))), encoding="utf-8")
    said = re.search(r'<pre id="found">(.*?)</pre>', ran(page, width, "--dump-dom"), flags=re.DOTALL)
    assert said is not None
    found: dict[str, Any] = json.loads(entities.unescape(said[1]))
    return found


@needs_chromium
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("result", [finished(), shown(), many()], ids=["imci-micro", "demo", "many"])
def test_the_page_fits(result: Result, width: int, tmp_path: Path) -> None:
    html = render_report(result)
    found = look(html, tmp_path, width)
    assert found["overlaps"] == [] and found["outside"] == [] and found["sparse"] == []
    assert not found["wider"] and found["first"] <= HEIGHT
    assert width < 900 or len(set(found["columns"])) == 1, "both columns end together"
    assert found["tiles"][-1] == max(found["tiles"]), "the last tile ends where its row does"
    page, picture = tmp_path / "report.html", tmp_path / f"report-{width}.png"
    page.write_text(html, encoding="utf-8")
    ran(page, width, f"--screenshot={picture}")
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000


@needs_chromium
def test_the_look_sees_labels_on_top_of_each_other_and_empty_cards(tmp_path: Path) -> None:
    drawing = '<svg viewBox="0 0 100 50" aria-label="bad"><text x="1" y="20">one</text><text x="3" y="22">two</text></svg>'
    html = f'<body><section style="height:2000px;width:300px">{drawing}</section><div style="width:3000px">wide</div></body>'
    found = look(html, tmp_path, 1280)
    assert found["overlaps"] == [["one", "two"]] and found["sparse"] and found["wider"]


def test_text_and_charts_have_the_same_figures() -> None:
    result = finished()
    page = render_report(result)
    charts, table = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)), page[page.index("<h2>Figures</h2>") :]
    for measured in result.measurements:
        assert f">{ms_text(measured.median_ms)}<" in charts and f"<td>{ms_text(measured.median_ms)}</td>" in table
        if measured.mode == "rtfilter":
            assert f">{packs_text(measured)}<" in charts and f"<td>{packs_text(measured)}</td>" in table
    assert "2.33x" in page[: page.index("<svg")], "the gain of all queries is in the first words"
    assert not re.search(r"\bp = |\bp:", page), "p is the selectivity and nothing else"
