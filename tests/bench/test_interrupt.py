"""Ctrl-C ends a command within seconds, though its clean-up hangs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

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


def test_a_clean_up_that_hangs_does_not_hold_it_up() -> None:
    with subprocess.Popen([sys.executable, "-c", COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None and command.stdout.readline() == "runs\n"
        began_s = time.monotonic()
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=30)
    assert command.returncode == 130
    assert time.monotonic() - began_s < 5
    assert said == "rtfilter: interrupted\n"
