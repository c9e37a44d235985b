"""The host's loop: every frame gets its answer, a slow one holds up no other, and a broken stream is an error."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar

import pytest

from rtfilter.errors import ProtocolError
from rtfilter.host import server
from rtfilter.host.frames import Frame, read_frame, write_frame
from rtfilter.host.input_pipe import widened_input_pipe_bytes


class FakeRequests:
    """Answers at once, but to `wait` only once `go on` has come."""

    go_on = threading.Event()
    closed: ClassVar[list[FakeRequests]] = []

    def __init__(self, _journal: object = None) -> None:
        pass

    def close(self) -> None:
        self.closed.append(self)

    def answer(self, frame: Frame) -> tuple[dict[str, Any], bytes]:
        op = frame.json["op"]
        if op == "wait":
            assert self.go_on.wait(20)
        if op == "go on":
            self.go_on.set()
        if op == "raise":
            raise RuntimeError("no idea")
        if op == "no JSON":
            return {"said": object()}, b""
        return {"said": op}, frame.body


class Pipes:
    """Both ends of the two streams of a host."""

    def __init__(self) -> None:
        (read, write), (answers_read, answers_write) = os.pipe(), os.pipe()
        self.requests: BinaryIO = os.fdopen(read, "rb")
        self.to_host: BinaryIO = os.fdopen(write, "wb")
        self.answers: BinaryIO = os.fdopen(answers_write, "wb")
        self.from_host: BinaryIO = os.fdopen(answers_read, "rb")

    def close(self) -> None:
        for stream in (self.to_host, self.from_host, self.requests, self.answers):
            stream.close()


@pytest.fixture
def pipes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipes]:
    monkeypatch.setattr(server, "Requests", FakeRequests)
    monkeypatch.setattr(FakeRequests, "go_on", threading.Event())
    pipes = Pipes()
    yield pipes
    pipes.close()


def test_a_slow_request_holds_up_no_other_and_all_are_answered(pipes: Pipes) -> None:
    host = threading.Thread(target=server.serve, args=(pipes.requests, pipes.answers))
    host.start()
    sent = ["wait", "a", "raise", "wait", "no JSON", "b", "go on"]
    for number, op in enumerate(sent):
        write_frame(pipes.to_host, {"id": number, "op": op}, b"body")
    answers = [read_frame(pipes.from_host) for _ in sent]
    pipes.to_host.close()
    host.join(20)
    assert not host.is_alive()
    assert FakeRequests.closed
    said = {answer.json["id"]: answer for answer in answers if answer is not None}
    assert {number: answer.json.get("said") for number, answer in said.items()} == {
        number: None if op in ("raise", "no JSON") else op for number, op in enumerate(sent)
    }
    assert "no idea" in said[2].json["error"]
    assert said[0].body == b"body"
    assert {number for number, answer in said.items() if not answer.json["ok"]} == {2, 4}


@pytest.mark.parametrize("rest", [b"\0\0", struct.pack(">ii", 400, 0) + b"{}", struct.pack(">ii", -1, 0)])
def test_a_broken_stream_is_an_error_every_time(monkeypatch: pytest.MonkeyPatch, rest: bytes) -> None:
    monkeypatch.setattr(server, "Requests", FakeRequests)
    for _ in range(50):
        pipes = Pipes()
        pipes.to_host.write(rest)
        pipes.to_host.close()
        with pytest.raises(ProtocolError):
            server.serve(pipes.requests, pipes.answers)
        pipes.close()


def test_an_input_that_is_no_pipe_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert widened_input_pipe_bytes() >= 0
    monkeypatch.delattr("fcntl.F_GETPIPE_SZ", raising=False)
    assert widened_input_pipe_bytes() == 0
