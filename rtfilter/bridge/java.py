"""Finds the Java that Spark will run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rtfilter.errors import JavaNotFoundError

LEAST_MAJOR = 17
HOW_TO_GET_JAVA = (
    "Install a Java runtime of version 17 or later (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17; Fedora: dnf install java-17-openjdk-headless) or set JAVA_HOME to one."
)


@dataclass(frozen=True)
class Java:
    """A Java launcher and its version text, such as `17.0.15`."""

    launcher: Path
    version: str

    @property
    def major(self) -> int:
        numbers = re.findall(r"\d+", self.version)
        first = int(numbers[0]) if numbers else 0
        return int(numbers[1]) if first == 1 and len(numbers) > 1 else first


def find_java() -> Java:
    """The Java of JAVA_HOME, or else of PATH, as Spark's own scripts look for it.

    Raises:
        JavaNotFoundError: none is there, it does not start, or it is older than 17.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not found or not shutil.which(found):
        where = f"JAVA_HOME is {home!r}, but has no bin/java." if home else "There is no java on PATH and JAVA_HOME is not set."
        raise JavaNotFoundError(f"{where} {HOW_TO_GET_JAVA}")
    try:
        said = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError) as e:
        raise JavaNotFoundError(f"{found} does not start ({e}). {HOW_TO_GET_JAVA}") from e
    version = re.search(r'version "([^"]+)"', said)
    java = Java(Path(found), version.group(1) if version else "0")
    if java.major < LEAST_MAJOR:
        raise JavaNotFoundError(f"{found} is Java {java.version}; Spark 4 needs {LEAST_MAJOR} or later. {HOW_TO_GET_JAVA}")
    return java
