"""The command line: `rtfilter`, or `python -m rtfilter` where the script is not on the PATH."""

from __future__ import annotations

import os
import signal
from typing import Any

INTERRUPTED = 130


def main() -> None:
    """Runs a command. Ctrl-C while its libraries are imported ends it with one line too."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    from rtfilter.cli import main as run_command  # takes half a second

    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, before)
    run_command()


def _end(*_: Any) -> None:
    os.write(2, b"rtfilter: interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
