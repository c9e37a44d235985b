"""An object store on loopback that shows a local folder as a bucket to readers, and waits before each answer as a distant one does.

    python tests/measure/s3_server.py FOLDER DELAY_MS

Prints its port. It answers what Hadoop's S3 client asks to list and read a table: HEAD, GET with a range, and ListObjectsV2.
"""

from __future__ import annotations

import sys
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "tables"
PAGE_KEYS = 1000
NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


class Store(ThreadingHTTPServer):
    """The objects below a folder; what was asked is counted by method."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, folder: Path, delay_ms: float) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder, self.delay_s = folder, delay_ms / 1000
        self.keys = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class Answer(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    server: Store

    def log_message(self, *_: object) -> None:
        """Nobody reads a line per request."""

    def do_HEAD(self) -> None:
        self._object(with_body=False)

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        words = {name: values[0] for name, values in parse_qs(asked.query, keep_blank_values=True).items()}
        if "list-type" in words:
            self._list(words)
        else:
            self._object(with_body=True)

    def _object(self, with_body: bool) -> None:
        time.sleep(self.server.delay_s)
        key = unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}/")
        path = self.server.folder / key
        if not path.is_file():
            self._send(404, b"<Error><Code>NoSuchKey</Code></Error>" if with_body else b"", {})
            return
        status = path.stat()
        headers = {
            "ETag": f'"{status.st_mtime_ns:x}"',
            "Last-Modified": formatdate(status.st_mtime, usegmt=True),
            "Accept-Ranges": "bytes",
        }
        first, last = 0, status.st_size - 1
        if "Range" in self.headers:
            begin, _, end = self.headers["Range"].removeprefix("bytes=").partition("-")
            first, last = (int(begin), min(int(end or last), last)) if begin else (status.st_size - int(end), last)
            headers["Content-Range"] = f"bytes {first}-{last}/{status.st_size}"
        if not with_body:
            self._send(200, b"", headers, status.st_size)
            return
        with path.open("rb") as file:
            file.seek(first)
            self._send(206 if "Range" in self.headers else 200, file.read(last - first + 1), headers)

    def _list(self, words: dict[str, str]) -> None:
        time.sleep(self.server.delay_s)
        prefix, delimiter = words.get("prefix", ""), words.get("delimiter", "")
        after = words.get("continuation-token", words.get("start-after", ""))
        found: dict[str, bool] = {}
        for key in self.server.keys:
            if key.startswith(prefix):
                below, slash, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
                found[prefix + below + slash if slash else key] = bool(slash)
        left = sorted(name for name in found if name > after)
        most = min(int(words.get("max-keys", PAGE_KEYS)), PAGE_KEYS)
        page, more = left[:most], len(left) > most
        parts = [f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount><MaxKeys>{most}</MaxKeys>"]
        parts.append(f"<IsTruncated>{str(more).lower()}</IsTruncated>")
        if more:
            parts.append(f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>")
        parts.extend(
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" if found[name] else self._entry(name)
            for name in page
        )
        body = f'<?xml version="1.0"?><ListBucketResult xmlns="{NAMESPACE}">{"".join(parts)}</ListBucketResult>'
        self._send(200, body.encode(), {"Content-Type": "application/xml"})

    def _entry(self, key: str) -> str:
        status = (self.server.folder / key).stat()
        changed = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(status.st_mtime))
        return (
            f'<Contents><Key>{escape(key)}</Key><LastModified>{changed}</LastModified><ETag>"{status.st_mtime_ns:x}"</ETag>'
            f"<Size>{status.st_size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        )

    def _send(self, status: int, body: bytes, headers: dict[str, str], length: int | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


def _folder(prefix: str) -> str:
    return f"<CommonPrefixes><Prefix>{escape(prefix)}</Prefix></CommonPrefixes>"


def main(arguments: list[str]) -> int:
    store = Store(Path(arguments[0]), float(arguments[1]))
    print(store.server_address[1], flush=True)
    store.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
