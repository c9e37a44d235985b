"""`python -m rtfilter.host`: started by the bridge; reads frames from standard input until it ends."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Serves the bridge. Standard output belongs to the protocol: whatever else prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    # Imported only now, so that nothing that an import prints can get among the frames.
    from rtfilter.host.arrow_memory import give_memory_back
    from rtfilter.host.server import serve
    from rtfilter.store.index_reading.reading_journal import journal_of_parent

    give_memory_back()
    # What was imported stays: without it a list of 20,000 files is taken in half the time.
    gc.freeze()
    code = 0
    try:
        serve(sys.stdin.buffer, answers, journal_of_parent())
    except Exception as e:
        print(f"rtfilter planner host: {type(e).__name__}: {e}", file=sys.stderr, flush=True)
        code = 1
    # A thread that hangs in somebody's file system must not keep the process: the application is gone.
    os._exit(code)


if __name__ == "__main__":
    main()
