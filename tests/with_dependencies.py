"""Runs tests with the oldest, or the newest, version of every runtime dependency that pyproject.toml allows.

    python tests/with_dependencies.py oldest tests/store -x
    python tests/with_dependencies.py newest tests/store

The oldest ones are installed into an environment in the cache directory (rtfilter/folders.py), which is made anew when the bounds
change. The newest ones are those of the Python that runs this where pip knows of no newer, as on a machine that was set up today;
else they get an environment too. Prints the versions that the tests then ran with.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from rtfilter.folders import cache_directory  # noqa: E402

# What the tests themselves need beside the runtime dependencies; as new as may be.
FOR_TESTS = ("pytest", "hypothesis", "duckdb", "PyYAML")
# Written last: an environment without it is made anew.
STAMP = "installed"


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def oldest(requirement: str) -> str:
    """The requirement with the lowest version that it allows: `a>=1.2,<3` is `a==1.2`.

    Raises:
        ValueError: it has no lower bound.
    """
    found = Requirement(requirement)
    floors = [each.version for each in found.specifier if each.operator in (">=", "==", "~=")]
    if len(floors) != 1:
        raise ValueError(f"{requirement!r} in pyproject.toml needs one lower bound, such as '>=1.2'")
    return f"{found.name}=={floors[0]}"


def for_tests(extras: dict[str, list[str]]) -> list[str]:
    """The requirements of FOR_TESTS as the extras have them."""
    known = {Requirement(each).name: each for extra in ("bench", "dev") for each in extras[extra]}
    return [known[name] for name in FOR_TESTS]


def pip(python: Path, *arguments: str) -> str:
    """What pip prints; it prints its errors itself. Our own pip installs into any environment."""
    command = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL).stdout


def environment(name: str, requirements: Sequence[str], *options: str) -> Path:
    """The Python of an environment in the cache directory with these requirements, made if it is not there."""
    digest = hashlib.sha256(json.dumps([sys.version, *requirements]).encode()).hexdigest()[:12]
    folder = cache_directory() / "environments" / f"{name}-{digest}"
    python = folder / "bin" / "python"
    if not (folder / STAMP).exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=False)
        pip(python, "install", "--quiet", *options, *requirements)
        (folder / STAMP).touch()
    return python


def python_with_oldest() -> Path:
    described = project()
    pinned = [oldest(each) for each in described["dependencies"]]
    return environment("oldest", [*pinned, *for_tests(described["optional-dependencies"])])


def python_with_newest() -> Path:
    described = project()
    runtime = described["dependencies"]
    report = pip(Path(sys.executable), "install", "--quiet", "--dry-run", "--upgrade", "--report", "-", *runtime)
    newer = [f"{each['metadata']['name']}=={each['metadata']['version']}" for each in json.loads(report)["install"]]
    if not newer:
        return Path(sys.executable)
    print(f"newer than here: {', '.join(newer)}", flush=True)
    return environment("newest", [*runtime, *newer, *for_tests(described["optional-dependencies"])])


def versions(python: Path) -> str:
    names = [Requirement(each).name for each in project()["dependencies"]]
    program = "import sys; from importlib.metadata import version; print(*(f'{n} {version(n)}' for n in sys.argv[1:]), sep=', ')"
    return subprocess.run([str(python), "-c", program, *names], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def main(arguments: Sequence[str]) -> int:
    makers = {"oldest": python_with_oldest, "newest": python_with_newest}
    if not arguments or arguments[0] not in makers:
        print(f"usage: python {Path(__file__).name} oldest|newest [arguments of pytest]", file=sys.stderr)
        return 2
    python = makers[arguments[0]]()
    print(f"{arguments[0]}: {versions(python)}", flush=True)
    os.chdir(ROOT)
    # In this process's place, so that whoever ends this ends the tests.
    os.execve(python, [str(python), "-m", "pytest", *arguments[1:]], {**os.environ, "PYTHONPATH": str(ROOT)})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
