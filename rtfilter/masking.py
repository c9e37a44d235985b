"""Secrets that stand in URIs: whatever is shown or logged goes through here. `Masking.scala` does the same for Spark's log."""

from __future__ import annotations

import re

# `scheme://user:secret@host`. What Azure's schemes have in that place is a container's name.
_USER_INFO = re.compile(r"""(?<![\w+.-])((?!abfss?:|wasbs?:)[a-zA-Z][a-zA-Z0-9+.-]*://)[^/@\s"'\\?#]+@""")
# `scheme://host/path?sig=secret`.
_QUERY = re.compile(r"""(?<![\w+.-])([a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'\\?#]*)\?[^\s"'\\]+""")


def without_secrets(text: str) -> str:
    """The text with `***` for the user info and the query string of every URI in it: `s3a://***@bucket/table`."""
    if "://" not in text:
        return text
    return _QUERY.sub(r"\1?***", _USER_INFO.sub(r"\1***@", text))
