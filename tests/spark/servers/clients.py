"""Who sends a query: a program with a session of its own, a client of a Thrift server, a client of a Connect server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import requires
from pathlib import Path

import pyspark
from filelock import FileLock
from packaging.requirements import Requirement

from rtfilter.bridge.java import find_java
from rtfilter.folders import cache_directory

SPARK_HOME = Path(pyspark.__file__).parent
START_S = 120
CLIENT_S = 180

OWN_SESSION = """
import json, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]")
for key, value in json.loads(sys.argv[1]).items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
for statements in json.loads(sys.argv[2]):
    own = spark.newSession()
    for statement in statements:
        print(own.sql(statement).collect())
spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
"""
CONNECT = """
import json, sys
from pyspark.sql import SparkSession
for statements in json.loads(sys.argv[2]):
    spark = SparkSession.builder.remote(sys.argv[1]).create()
    for statement in statements:
        print(spark.sql(statement).collect())
    spark.stop()
"""


def run_own_session(conf: Mapping[str, str], sessions: Sequence[Sequence[str]], folder: Path) -> str:
    """Runs the statements of each session in an application of one user; what they printed."""
    return _said([sys.executable, "-c", OWN_SESSION, json.dumps({**_quiet(folder), **conf}), json.dumps(sessions)], folder)


def run_thrift(conf: Mapping[str, str], sessions: Sequence[Sequence[str]], folder: Path) -> str:
    """Runs the statements of each session over JDBC in a Thrift server; what they printed."""
    with thrift_server(conf, folder) as port:
        return _beeline(port, sessions, folder)


@contextmanager
def thrift_server(conf: Mapping[str, str], folder: Path) -> Iterator[int]:
    """A Thrift server on this machine, and its port."""
    port = _free_port()
    main = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    with _server(main, {"spark.hadoop.hive.server2.thrift.port": str(port), **conf}, port, folder):
        yield port


def run_connect(conf: Mapping[str, str], sessions: Sequence[Sequence[str]], folder: Path) -> str:
    """Runs the statements of each session from Python through a Connect server; what they printed."""
    port = _free_port()
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    given = {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port), **conf}
    paths = os.pathsep.join([*(each for each in [os.environ.get("PYTHONPATH")] if each), str(connect_packages())])
    with _server(main, given, port, folder):
        command = [sys.executable, "-c", CONNECT, f"sc://127.0.0.1:{port}", json.dumps(sessions)]
        return _said(command, folder, PYTHONPATH=paths)


CLIENTS: dict[str, Callable[[Mapping[str, str], Sequence[Sequence[str]], Path], str]] = {
    "own session": run_own_session,
    "Thrift": run_thrift,
    "Connect": run_connect,
}


def connect_packages() -> Path:
    """A folder with what PySpark's Connect client needs beside PySpark, installed into the cache directory once.

    They are no dependencies of ours, and pandas among those of all tests would change what PySpark does in others.
    """
    extra = [Requirement(each) for each in requires("pyspark") or ()]
    wanted = [
        each
        for each in extra
        if each.marker and each.marker.evaluate({"extra": "connect"}) and not each.marker.evaluate({"extra": ""})
    ]
    # pyspark 4.3 warns of pandas 3.
    pinned = sorted(f"{each.name}{each.specifier}" + (",<3" if each.name == "pandas" else "") for each in wanted)
    folder = cache_directory() / "connect-client"
    stamp = folder / "installed.json"
    with FileLock(f"{folder}.lock"):
        if not stamp.exists() or json.loads(stamp.read_text()) != pinned:
            command = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--upgrade",
                "--target",
                str(folder),
            ]
            subprocess.run([*command, *pinned], check=True, stdin=subprocess.DEVNULL)
            stamp.write_text(json.dumps(pinned))
    return folder


@contextmanager
def _server(main: str, conf: Mapping[str, str], port: int, folder: Path) -> Iterator[None]:
    entries = [part for key, value in {**_quiet(folder), **conf}.items() for part in ("--conf", f"{key}={value}")]
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", "local[2]", *entries, "--class", main, "spark-internal"]
    log = folder / "server.log"
    with log.open("w") as said, subprocess.Popen(command, stdout=said, stderr=said, cwd=folder, env=_environment()) as server:
        try:
            _await(port, server, log)
            yield
        finally:
            server.terminate()
            server.wait(60)


def _await(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"the server did not start:\n{log.read_text()[-4000:]}")


def _beeline(port: int, sessions: Sequence[Sequence[str]], folder: Path) -> str:
    script = folder / "statements.sql"
    opened = f"!connect jdbc:hive2://127.0.0.1:{port} somebody none\n"
    script.write_text("".join(opened + "".join(f"{each};\n" for each in statements) for statements in sessions))
    java = [str(find_java().launcher), "-cp", str(SPARK_HOME / "jars" / "*"), "org.apache.hive.beeline.BeeLine"]
    return _said([*java, "--silent=true", "--outputformat=tsv2", "--showHeader=false", "-f", str(script)], folder)


def _said(command: Sequence[str], folder: Path, **more: str) -> str:
    environment = {**_environment(), **more}
    done = subprocess.run(command, capture_output=True, text=True, timeout=CLIENT_S, cwd=folder, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "SPARK_HOME": str(SPARK_HOME)}


def _quiet(folder: Path) -> dict[str, str]:
    return {
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
