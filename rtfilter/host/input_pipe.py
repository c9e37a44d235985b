"""The pipe of standard input: how much a bridge can write that this process has not read yet."""

from __future__ import annotations

import contextlib
import fcntl

# What Linux lets everybody have (fs.pipe-max-size). A fill of 100,000 keys is 800 kB: with the 64 KiB that a pipe begins with, two
# processes would have to take turns thirteen times.
WANTED_BYTES = 1 << 20


def widened_input_pipe_bytes() -> int:
    """Asks for a larger pipe and returns what it holds then, in bytes; 0 where that can't be told.

    Linux says it (pipe(7)): 64 KiB to begin with, and 8 KiB or less for a user who has more than a thousand pipes.
    """
    try:
        with contextlib.suppress(OSError):
            fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, WANTED_BYTES)
        return fcntl.fcntl(0, fcntl.F_GETPIPE_SZ)
    except (AttributeError, OSError):
        return 0
