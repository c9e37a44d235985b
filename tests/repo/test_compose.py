"""docker-compose.yml, held against the schema of the Compose specification, and against itself: what it names must be there.

There is no Docker engine where these tests run; the schema is the one that check-jsonschema carries.
"""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker-compose.yml"
SPARK_SERVICES = {"master", "worker-1", "worker-2", "history", "driver"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load(FILE.read_text(encoding="utf-8")))


def schema_check(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def host_paths(service: dict[str, Any]) -> Iterator[str]:
    """Every path of this repository that a service builds from or mounts."""
    build = service.get("build", {})
    if build:
        yield build["context"]
        yield f"{build['context']}/{build['dockerfile']}"
    yield from (volume.split(":")[0] for volume in service.get("volumes", ()) if volume.startswith((".", "/")))


def unresolved(compose: dict[str, Any]) -> list[str]:
    """Names that a service uses and nobody declares: other services, volumes, paths of the repository."""
    found = []
    for name, service in compose["services"].items():
        named = [volume.split(":")[0] for volume in service.get("volumes", ()) if not volume.startswith((".", "/"))]
        found += [f"{name}: no volume {volume}" for volume in named if volume not in compose["volumes"]]
        found += [f"{name}: no service {other}" for other in service.get("depends_on", {}) if other not in compose["services"]]
        found += [f"{name}: no path {path}" for path in host_paths(service) if not (ROOT / path).exists()]
    return found


def test_the_file_is_valid_compose() -> None:
    checked = schema_check(FILE)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_misspelt_key_is_not_valid_compose(tmp_path: Path) -> None:
    broken = tmp_path / "docker-compose.yml"
    broken.write_text(FILE.read_text(encoding="utf-8").replace("    hostname: driver", "    hostnam: driver"), encoding="utf-8")
    checked = schema_check(broken)
    assert checked.returncode != 0 and "hostnam" in checked.stdout + checked.stderr


def test_the_cluster_is_complete(compose: dict[str, Any]) -> None:
    assert SPARK_SERVICES | {"store"} <= set(compose["services"])
    assert len({compose["services"][name]["image"] for name in SPARK_SERVICES}) == 1


def test_everything_that_keeps_running_has_a_health_check(compose: dict[str, Any]) -> None:
    assert {name for name, service in compose["services"].items() if "healthcheck" not in service} == {"bucket"}


def test_whatever_a_service_names_is_there(compose: dict[str, Any]) -> None:
    assert unresolved(compose) == []


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"volumes": ["scratch:/scratch"]}, "driver: no volume scratch"),
        ({"volumes": ["./docker/spark.conf:/x:ro"]}, "driver: no path ./docker/spark.conf"),
        ({"depends_on": {"worker-3": {"condition": "service_healthy"}}}, "driver: no service worker-3"),
        ({"build": {"context": ".", "dockerfile": "Dockerfile"}}, "driver: no path ./Dockerfile"),
    ],
)
def test_what_is_missing_is_found(compose: dict[str, Any], changed: dict[str, Any], complaint: str) -> None:
    broken = copy.deepcopy(compose)
    broken["services"]["driver"].update(changed)
    assert unresolved(broken) == [complaint]


def test_no_two_services_publish_one_port(compose: dict[str, Any]) -> None:
    ports = [port.split(":")[0] for service in compose["services"].values() for port in service.get("ports", ())]
    assert ports and len(ports) == len(set(ports))


def test_the_spark_conf_names_services_and_mounts_of_the_cluster(compose: dict[str, Any]) -> None:
    lines = (ROOT / "docker" / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    conf = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    hosts = [conf["spark.master"].split("/")[2], conf["spark.hadoop.fs.s3a.endpoint"].split("/")[2], conf["spark.driver.host"]]
    assert {host.split(":")[0] for host in hosts} <= set(compose["services"])
    mounted = {volume.split(":")[1] for volume in compose["services"]["history"]["volumes"]}
    assert {conf[key].removeprefix("file://") for key in ("spark.eventLog.dir", "spark.history.fs.logDirectory")} <= mounted


def test_the_image_gets_what_the_package_needs() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")]
    assert {"pyproject.toml", "README.md", "LICENSE", "rtfilter", "planner"} <= set(kept)
    assert all((ROOT / name).exists() for name in kept)
