"""No planner host outlives its application."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

DRIVER = """
import sys, time
from pyspark.sql import SparkSession
import rtfilter
from rtfilter.bridge import jvm
spark = rtfilter.configure(SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")).getOrCreate()
spark.conf.set("rtfilter.enabled", True)
spark.sql("select 1 where 1 in (select id from range(3))").collect()
while jvm.host_pid(spark) < 0:
    time.sleep(0.1)
print("host", jvm.host_pid(spark), flush=True)
sys.stdin.readline()
spark.stop()
print("stopped", flush=True)
sys.stdin.readline()
"""


def running(pid: int) -> bool:
    """Whether the process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone_within(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not running(pid):
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def driver() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", DRIVER]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def host_of(driver: subprocess.Popen[str]) -> int:
    assert driver.stdout is not None
    word, pid = driver.stdout.readline().split()
    assert word == "host"
    assert running(int(pid))
    return int(pid)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
def test_the_host_ends_with_spark_stop(driver: subprocess.Popen[str]) -> None:
    pid = host_of(driver)
    assert driver.stdin is not None and driver.stdout is not None
    driver.stdin.write("\n")
    driver.stdin.flush()
    assert driver.stdout.readline().strip() == "stopped"
    assert gone_within(pid, 60)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
def test_the_host_ends_when_the_driver_is_killed(driver: subprocess.Popen[str]) -> None:
    pid = host_of(driver)
    driver.kill()
    assert gone_within(pid, 60)
