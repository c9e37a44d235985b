"""Speaks to a planner host as the bridge does: for `rtfilter doctor` and for tests."""

from __future__ import annotations

import os
import subprocess
from typing import Any, BinaryIO, cast

from rtfilter.errors import ProtocolError
from rtfilter.host.frames import PROTOCOL, Frame, read_frame, write_frame


class HostClient:
    """A planner host of one's own, asked one request after the other."""

    def __init__(self, python: str) -> None:
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        self._process = subprocess.Popen(
            [python, "-m", "rtfilter.host"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._answers = cast(BinaryIO, self._process.stdin), cast(BinaryIO, self._process.stdout)
        self._next = 0

    def ask(self, op: str, body: bytes = b"", **fields: Any) -> Frame:
        """Sends one request and waits for its answer.

        Raises:
            ProtocolError: the host ended without an answer; its last words are in the text.
        """
        self._next += 1
        try:
            write_frame(self._requests, {"id": self._next, "op": op, **fields}, body)
            answer = read_frame(self._answers)
        except OSError as e:
            raise ProtocolError(f"the planner host is gone: {e}. {self._last_words()}") from e
        if answer is None:
            raise ProtocolError(f"the planner host ended without an answer. {self._last_words()}")
        return answer

    def close(self) -> int:
        """Ends the host by ending its input; returns its exit status."""
        self._requests.close()
        try:
            return self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _last_words(self) -> str:
        self._process.kill()
        said = self._process.communicate()[1].decode(errors="replace").strip()
        return said[-500:]


def ping(python: str) -> dict[str, Any]:
    """Starts a planner host with an interpreter, greets it and ends it: its protocol and version.

    Raises:
        ProtocolError: the interpreter does not start, lacks rtfilter, or speaks another protocol.
    """
    try:
        client = HostClient(python)
    except OSError as e:
        way_out = "set rtfilter.python to one that has rtfilter"
        raise ProtocolError(f"the interpreter {python!r} can't be started ({e}); {way_out}.") from e
    try:
        answer = client.ask("hello", protocol=PROTOCOL).json
    finally:
        client.close()
    if answer.get("protocol") != PROTOCOL:
        raise ProtocolError(f"the host of {python!r} speaks protocol {answer.get('protocol')}, this side {PROTOCOL}.")
    return {"protocol": answer["protocol"], "version": answer["version"]}
