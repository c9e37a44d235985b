"""A disk without room for the compiler's classes is told in one line, not in the compiler's own trace."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rtfilter import JarBuildError
from rtfilter.bridge import jar

TRACE = "error: error while writing X: java.io.IOException: No space left on device\n\tat scala.tools.nsc.Main(Main.scala:1)\n"


def test_no_space_for_classes_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", TRACE)

    monkeypatch.setattr(subprocess, "run", full)
    monkeypatch.setattr(jar, "scala_compiler", lambda spark: ["scalac"])
    with pytest.raises(JarBuildError) as failure:
        jar.build_jar(tmp_path / "x.jar")
    said = str(failure.value)
    assert said.startswith("there is no space left in ") and said.endswith("set TMPDIR to a folder with more.")
    assert "\n" not in said and not (tmp_path / "x.jar").exists()
