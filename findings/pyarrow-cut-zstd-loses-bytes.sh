#!/usr/bin/env bash
# A zstd file that a killed writer has cut off can be unpacked up to the cut. pyarrow's CompressedInputStream raises at the end and
# drops what it has unpacked in that very call: how much of the file one gets depends on the size of the reads. With reads of 1 MiB
# nothing comes out of a file that holds 600,000 bytes before the cut, with reads of a byte all of them.
# Seen with pyarrow 26.0.1: "1048576: 0 of 600000", "65536: 589824 of 600000", "1: 600000 of 600000". Exits non-zero if it differs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1
printed=$("$folder/env/bin/python" - <<'PYTHON'
import io
import pyarrow as pa

codec = pa.Codec("zstd")
whole = codec.compress(b"0123456789" * 60_000, asbytes=True)
cut = whole + codec.compress(b"x" * 100, asbytes=True)[:-3]
for size in (1 << 20, 1 << 16, 1):
    got = 0
    with pa.CompressedInputStream(pa.PythonFile(io.BytesIO(cut), mode="r"), "zstd") as stream:
        try:
            while chunk := stream.read(size):
                got += len(chunk)
        except OSError:
            pass
    print(f"{size}: {min(got, 600_000)} of 600000")
PYTHON
)
echo "pyarrow 26.0.1"
echo "$printed"
[ "$printed" = "1048576: 0 of 600000
65536: 589824 of 600000
1: 600000 of 600000" ]
