"""Installs the writers of the catalogue into the cache directory, each in a folder of its own.

    python tests/writers/make_environment.py                 all of them
    python tests/writers/make_environment.py --seconds 120   those that are there within two minutes
    python tests/writers/make_environment.py polars rugo     these
    python tests/writers/make_environment.py --list          what is there and what is missing

The cache directory is rtfilter's own: RTFILTER_CACHE says where, see rtfilter/folders.py. What is there already is left alone.
Exits with 1 where a writer is missing in the end and no time limit was given.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from rtfilter.folders import cache_directory  # noqa: E402
from tests.writers.catalogue import BY_NAME, WRITERS, Source, Writer  # noqa: E402

AT_ONCE = 2
# Written last into a writer's folder, with what was installed: a folder without it, or with other packages, is made anew.
STAMP = "installed.json"


def environment_of(writer: Writer) -> Path:
    return cache_directory() / "writers" / writer.name


def python_of(writer: Writer) -> Path:
    """The Python that runs this writer; our own where it needs no other."""
    return Path(sys.executable) if writer.source is Source.OWN else environment_of(writer) / "bin" / "python"


def is_installed(writer: Writer) -> bool:
    if writer.source is Source.OWN:
        return True
    try:
        return bool(json.loads((environment_of(writer) / STAMP).read_text()) == list(writer.packages))
    except (OSError, ValueError):
        return False


def installed() -> list[Writer]:
    return [writer for writer in WRITERS if is_installed(writer)]


def missing() -> list[Writer]:
    return [writer for writer in WRITERS if not is_installed(writer)]


def install(writer: Writer, deadline: float | None) -> str:
    """Installs one writer and says how it went in one line; a folder without a stamp is left where it did not work."""
    seconds = None if deadline is None else deadline - time.monotonic()
    if seconds is not None and seconds <= 0:
        return "no time left"
    started = time.monotonic()
    folder = environment_of(writer)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        ended = subprocess.run(
            _command(writer, folder),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return "not installed in time"
    except FileNotFoundError as error:
        return f"this machine has no {error.filename}"
    if ended.returncode != 0:
        return "\n".join(["not installed:", *(ended.stderr or ended.stdout).strip().splitlines()[-5:]])
    (folder / STAMP).write_text(json.dumps(list(writer.packages)))
    return f"installed in {time.monotonic() - started:.0f} s"


def _command(writer: Writer, folder: Path) -> Sequence[str]:
    if writer.source is Source.PIP:
        # Our own pip installs into it: one pip less to install, and a newer one than the venv module carries.
        venv.create(folder, with_pip=False)
        python = str(folder / "bin" / "python")
        return [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--quiet",
            "--disable-pip-version-check",
            *writer.packages,
        ]
    if writer.source is Source.NPM:
        (folder / "package.json").write_text('{"private": true}')
        return ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional", *writer.packages]
    raise NotImplementedError(writer.source)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Installs Parquet writers for tests into the cache directory.")
    parser.add_argument("writers", nargs="*", choices=[[], *BY_NAME], metavar="WRITER", help="only these")
    parser.add_argument("--seconds", type=float, help="stop after this many seconds; what is missing then is no error")
    parser.add_argument("--list", action="store_true", help="install nothing")
    options = parser.parse_args(arguments)
    chosen = [BY_NAME[name] for name in options.writers] or list(WRITERS)
    if not options.list:
        deadline = None if options.seconds is None else time.monotonic() + options.seconds
        todo = [writer for writer in chosen if not is_installed(writer)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for writer, outcome in zip(todo, pool.map(lambda each: install(each, deadline), todo), strict=True):
                print(f"{writer.name}: {outcome}", flush=True)
    lacking = [writer.name for writer in chosen if not is_installed(writer)]
    there = [writer.name for writer in chosen if is_installed(writer)]
    print(f"writers here: {', '.join(there) or 'none'}")
    print(f"writers missing: {', '.join(lacking) or 'none'}")
    return 1 if lacking and options.seconds is None and not options.list else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
