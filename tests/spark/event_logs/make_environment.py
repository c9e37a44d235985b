"""Installs an older pyspark into the cache directory, for event logs of it: each version in a folder of its own.

    python tests/spark/event_logs/make_environment.py            3.5.9
    python tests/spark/event_logs/make_environment.py 4.0.1      another version

The cache directory is rtfilter's own: RTFILTER_CACHE says where, see rtfilter/folders.py. What is there already is left alone.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from rtfilter.folders import cache_directory  # noqa: E402

OLDEST = "3.5.9"
STAMP = "installed"


def python_of(version: str) -> Path | None:
    """The Python that has this pyspark; None where it is not installed."""
    folder = cache_directory() / "sparks" / version
    return folder / "bin" / "python" if (folder / STAMP).exists() else None


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Installs an older pyspark for tests of event logs.")
    parser.add_argument("version", nargs="?", default=OLDEST)
    version = parser.parse_args(arguments).version
    if python_of(version) is None:
        folder = cache_directory() / "sparks" / version
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=False)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", f"pyspark=={version}", "setuptools"], check=True)
        (folder / STAMP).touch()
    print(python_of(version))


if __name__ == "__main__":
    main(sys.argv[1:])
