"""What a planner host was asked for: an interpreter that notes the options of every request before it answers as usual."""

from __future__ import annotations

import json
import sys
from pathlib import Path

PROGRAM = """#!{python}
import json, runpy
from rtfilter.host import requests

plain = requests._options

def noted(entries):
    with open({notes!r}, "a") as file:
        file.write(json.dumps(dict(entries)) + "\\n")
    return plain(entries)

requests._options = noted
runpy.run_module("rtfilter.host", run_name="__main__")
"""


def recording_interpreter(folder: Path) -> Path:
    """A program that Spark may start as its interpreter; `recorded` reads what it was asked for."""
    program = folder / "recording-python"
    program.write_text(PROGRAM.format(python=sys.executable, notes=str(folder / "requests.jsonl")))
    program.chmod(0o755)
    return program


def recorded(folder: Path) -> list[dict[str, str]]:
    """The options of every request, in their order."""
    return [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
