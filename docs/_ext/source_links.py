"""The role `src`: `FILE::FUNCTION` becomes a link to the line where the function is, on a page made of that file.

A file or a function that is not there is a warning, and so ends the build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from sphinx.util.docutils import SphinxRole
from sphinx.util.logging import getLogger

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
FOLDER = "_source_files"
_log = getLogger(__name__)


def line_of(file: str, function: str) -> int | None:
    """The line, counted from 1, that defines a function or class; None where there is none of that name."""
    definition = re.compile(rf"\s*(?:[\w\[\].]+ )*(?:def|class|object) {re.escape(function)}\b")
    try:
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((number for number, line in enumerate(lines, 1) if definition.match(line)), None)


class SourceRole(SphinxRole):
    """A link to a function's line."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        file, _, function = self.text.partition("::")
        line = line_of(file, function)
        if line is None:
            _log.warning("%s has no %s", file, function, location=self.get_location())
            return [nodes.literal(text=self.text)], []
        self.env.metadata.setdefault("source_files", {})[file] = True
        above = "../" * self.env.docname.count("/")
        link = nodes.reference("", "", refuri=f"{above}{FOLDER}/{file}.html#line-{line}", internal=False)
        link += nodes.literal(text=f"{file.rpartition('/')[2]}: {function}")
        return [link], []


def write_source_pages(app: Sphinx, error: Exception | None) -> None:
    """A page for each file that a link names."""
    if error is not None or app.builder.format != "html":
        return
    for file in app.env.metadata.get("source_files", {}):
        page = Path(app.outdir) / FOLDER / f"{file}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        look = HtmlFormatter(full=True, title=file, linenos="inline", lineanchors="line", anchorlinenos=True)
        page.write_text(highlight((ROOT / file).read_text(encoding="utf-8"), get_lexer_for_filename(file), look), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("src", SourceRole())
    app.connect("build-finished", write_source_pages)
    return {"parallel_read_safe": False}
