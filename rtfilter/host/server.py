"""The host's loop: one thread reads frames, a few answer them, in whatever order they finish."""

from __future__ import annotations

import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from rtfilter.errors import OptionError, QueryLogError
from rtfilter.host.frames import Frame, read_frame, write_frame
from rtfilter.host.requests import Requests

ANSWERING_THREADS = 4


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers frames until the input ends.

    Raises:
        ProtocolError: the input is not what docs/protocol.md says; nothing sensible can follow.
    """
    handlers = Requests()
    writing = threading.Lock()

    def answer(frame: Frame) -> None:
        message, body = _answer(handlers, frame)
        with writing:
            write_frame(answers, message, body)

    pool = ThreadPoolExecutor(ANSWERING_THREADS, thread_name_prefix="answer")
    try:
        while (frame := read_frame(requests)) is not None:
            pool.submit(answer, frame)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _answer(handlers: Requests, frame: Frame) -> tuple[dict[str, Any], bytes]:
    number = frame.json.get("id")
    try:
        message, body = handlers.answer(frame)
        return {"id": number, "ok": True, **message}, body
    except OptionError as e:
        return {"id": number, "ok": False, "kind": "option", "error": str(e)}, b""
    except QueryLogError as e:
        return {"id": number, "ok": False, "kind": "log", "error": str(e)}, b""
    except Exception as e:
        traceback.print_exc(file=sys.stderr)
        return {"id": number, "ok": False, "kind": "internal", "error": f"the planner failed: {type(e).__name__}: {e}."}, b""
