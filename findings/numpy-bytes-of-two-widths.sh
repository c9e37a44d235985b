#!/usr/bin/env bash
# numpy 1.26 compares byte strings as unsigned bytes where both arrays have one width, and as signed bytes where the widths differ:
# b'\xc2\x80' (S6) >= b'\xc2' is False against S1 and True against S6. numpy 2.0 gives True both times.
# Seen with numpy 1.26.4 and 2.0.0 on Python 3.11: "differ: False same: True" and "differ: True same: True".
# Exits non-zero if either behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
seen() { # requirement, what it should print
    python3 -m venv "$folder/$1"
    "$folder/$1/bin/pip" install --quiet --disable-pip-version-check "$1"
    printed=$("$folder/$1/bin/python" - <<'PY'
import numpy as np
b, text = b"\xc2", np.array([b"\xc2\x80"], "S6")
print(f"differ: {bool((text >= np.array([b], 'S1'))[0])} same: {bool((text >= np.array([b], 'S6'))[0])}")
PY
    )
    echo "$1: $printed"
    [ "$printed" = "$2" ]
}
seen numpy==1.26.4 "differ: False same: True"
seen numpy==2.0.0 "differ: True same: True"
