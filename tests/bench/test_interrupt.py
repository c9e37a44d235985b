"""Ctrl-C ends a command within seconds, though its clean-up hangs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """A shell starts what runs in its background with interrupts ignored, and every process below inherits that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


COMMAND = """
import time
from rtfilter.cli.interrupt import ends_in_time
with ends_in_time(130):
    try:
        print("runs", flush=True)
        time.sleep(60)
    finally:
        time.sleep(60)
"""


# The beginning of a program whose one command is `run`.
RUN = """
import logging, subprocess, sys, time
import click
from rtfilter.cli.failure import CleanErrors
from rtfilter.errors import BenchError

@click.group(cls=CleanErrors)
def main():
    pass

@main.command()
def run():
"""


# As DuckDB and Spark do: Ctrl-C comes out as an error of theirs.
LIBRARY = (
    RUN
    + """\
    print("runs", flush=True)
    try:
        time.sleep(60)
    except KeyboardInterrupt as error:
        logging.exception("KeyboardInterrupt while sending command.")
        raise {error}("Query interrupted") from error

main(["run"])
"""
)


@pytest.mark.parametrize("error", ["BenchError", "ValueError", "RuntimeError"])
def test_an_error_that_a_library_makes_of_it_is_an_interrupt(error: str) -> None:
    program = [sys.executable, "-c", LIBRARY.replace("{error}", error)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None and command.stdout.readline() == "runs\n"
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=30)
    assert (command.returncode, said) == (130, "rtfilter: interrupted\n")


CHILD = (
    RUN
    + """\
    # It ignores Ctrl-C, as pyspark has its JVM do, and holds our output open.
    program = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('runs', flush=True); time.sleep(60)"
    subprocess.Popen([sys.executable, "-c", program])
    time.sleep(60)

main(["run"])
"""
)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux tells a process its children")
def test_no_process_that_was_started_stays() -> None:
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None and command.stdout.readline() == "runs\n"
        command.send_signal(signal.SIGINT)
        # Until nobody has these pipes open any more.
        _, said = command.communicate(timeout=30)
    assert (command.returncode, said) == (130, "rtfilter: interrupted\n")


def test_a_clean_up_that_hangs_does_not_hold_it_up() -> None:
    with subprocess.Popen([sys.executable, "-c", COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None and command.stdout.readline() == "runs\n"
        began_s = time.monotonic()
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=30)
    assert command.returncode == 130
    assert time.monotonic() - began_s < 5
    assert said == "rtfilter: interrupted\n"


WHILE_IMPORTING = """
import os, runpy, signal, sys

class Interrupts:
    def find_spec(self, name, *_):
        if name == "rtfilter.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
sys.argv = ["rtfilter", "--help"]
runpy.run_module("rtfilter", run_name="__main__")
"""


def test_an_interrupt_while_libraries_are_imported_is_one_line() -> None:
    command = subprocess.run([sys.executable, "-c", WHILE_IMPORTING], capture_output=True, text=True, timeout=60)
    assert (command.returncode, command.stdout, command.stderr) == (130, "", "rtfilter: interrupted\n")
