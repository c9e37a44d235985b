"""How the pages are made: `make site`. Nothing is fetched from the network."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent / "_ext")]

project = "rtfilter"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click", "source_links"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "rtfilter"
html_show_sphinx = False
html_show_copyright = False
exclude_patterns = ["_ext", "measured"]
smartquotes = False
autodoc_typehints = "description"
