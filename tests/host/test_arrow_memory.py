"""The host gives memory back."""

from __future__ import annotations

import subprocess
import sys

HOST = """
import sys
import pyarrow
import rtfilter.host.server as server
server.serve = lambda *_: print(pyarrow.default_memory_pool().backend_name)
from rtfilter.host.__main__ import main
main()
"""


def test_a_host_takes_the_systems_allocator() -> None:
    done = subprocess.run([sys.executable, "-c", HOST], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (0, "system")
