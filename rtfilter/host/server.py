"""The host's loop: a few threads take turns at reading a frame and answer what they have read, in whatever order they finish."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from typing import BinaryIO

from rtfilter.errors import OptionError, QueryLogError
from rtfilter.host.frames import Frame, frame_bytes, read_frame, write_parts
from rtfilter.host.requests import Requests
from rtfilter.masking import without_secrets
from rtfilter.store.index_reading.reading_journal import ReadingJournal

ANSWERING_THREADS = 8


def serve(requests: BinaryIO, answers: BinaryIO, journal: ReadingJournal | None = None) -> None:
    """Answers frames until the input ends. `journal`: what an earlier process may have ended over.

    The thread that has read a frame answers it: handing it to another one costs a switch of threads, and a planning
    round trip is mostly those.

    Raises:
        ProtocolError: the input is not what docs/protocol.md says; nothing sensible can follow.
    """
    handlers = Requests(journal)
    reading, writing = threading.Lock(), threading.Lock()
    ended = threading.Event()
    failures: list[Exception] = []

    def next_frame() -> Frame | None:
        with reading:
            if ended.is_set():
                return None
            try:
                frame = read_frame(requests)
            except Exception as e:
                failures.append(e)
                frame = None
            if frame is None:
                ended.set()
            return frame

    def take_turns() -> None:
        while (frame := next_frame()) is not None:
            answer = _answer(handlers, frame)
            try:
                with writing:
                    write_parts(answers, answer)
            except Exception as e:
                # Nobody reads answers any more.
                failures.append(e)
                ended.set()

    for number in range(ANSWERING_THREADS):
        threading.Thread(target=take_turns, name=f"answer-{number}", daemon=True).start()
    ended.wait()
    handlers.close()
    if failures:
        raise failures[0]


def _answer(handlers: Requests, frame: Frame) -> list[bytes]:
    """The frame of an answer; what goes wrong with it, or with its JSON, is told in one too."""
    number, began = frame.json.get("id"), time.perf_counter()
    try:
        message, body = handlers.answer(frame)
        took_ms = (time.perf_counter() - began) * 1000
        return frame_bytes({"id": number, "ok": True, "took_ms": took_ms, **message}, body)
    except OptionError as e:
        kind, error = "option", str(e)
    except QueryLogError as e:
        kind, error = "log", str(e)
    except Exception as e:
        traceback.print_exc(file=sys.stderr)
        kind, error = "internal", without_secrets(f"The planner failed: {type(e).__name__}: {e}.")
    return frame_bytes({"id": number, "ok": False, "kind": kind, "error": error})
