"""Files of event logs: plain, zstd, lz4, rolled, compacted and cut off."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from rtfilter.advice.event_files import decompress
from rtfilter.advice.event_files.decompress import CutOffError, lines_of
from rtfilter.advice.event_files.log_files import event_logs
from rtfilter.errors import AdviceError
from tests.advice.event_logs.golden_logs import LOGS

TEXT = b"".join(b'{"Event":"number %d","filler":"%s"}\n' % (n, b"xy" * (n % 700)) for n in range(2_000))
LINES = TEXT.splitlines()


def lz4_blocks(content: bytes, block: int = 32_768, packed: bool = True) -> bytes:
    """What lz4-java's LZ4BlockOutputStream writes: blocks, and an empty one at the end."""
    found = b""
    for begin in range(0, len(content), block):
        piece = content[begin : begin + block]
        body = pa.Codec("lz4_raw").compress(piece, asbytes=True) if packed else piece
        held = 0x25 if packed else 0x15
        found += b"LZ4Block" + bytes([held]) + len(body).to_bytes(4, "little") + len(piece).to_bytes(4, "little") + bytes(4) + body
    return found + b"LZ4Block\x15" + bytes(12)


def zstd_frames(content: bytes, frame: int = 50_000) -> bytes:
    codec = pa.Codec("zstd")
    return b"".join(codec.compress(content[at : at + frame], asbytes=True) for at in range(0, len(content), frame))


FORMS = {
    "app-1": TEXT,
    "app-1.inprogress": TEXT,
    "app-1.zstd": zstd_frames(TEXT),
    "app-1.lz4": lz4_blocks(TEXT),
    "two.lz4": lz4_blocks(TEXT[:40_000]) + lz4_blocks(TEXT[40_000:]),
    "raw.lz4": lz4_blocks(TEXT, packed=False),
    "app-1.zstd.inprogress": zstd_frames(TEXT),
    "renamed.log": zstd_frames(TEXT),
    "events_1_app-1.lz4.compact": lz4_blocks(TEXT),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_lines(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FORMS[name])
    assert list(lines_of(tmp_path / name)) == LINES


@pytest.mark.parametrize("name", ["app-1", "app-1.zstd", "app-1.lz4"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.97])
def test_a_cut_file_gives_what_stands_before_the_cut(tmp_path: Path, name: str, share: float) -> None:
    content = FORMS[name]
    (tmp_path / name).write_bytes(content[: int(len(content) * share)])
    found = list(lines_of(tmp_path / name))
    assert isinstance(found[-1], CutOffError) == (name != "app-1")
    whole = [line for line in found[:-2] if isinstance(line, bytes)]
    assert whole == LINES[: len(whole)]
    # Of lz4 a block of 32 KiB at the most is lost, of zstd what is in the block that was cut.
    assert len(b"\n".join(whole)) > len(TEXT) * share - 150_000 and len(whole) > 0


def test_nothing_that_zstd_can_unpack_is_lost(tmp_path: Path) -> None:
    """pyarrow's stream loses what it has unpacked in the call that meets the end."""
    first, second = zstd_frames(TEXT, len(TEXT)), zstd_frames(b"later\n" * 10)
    (tmp_path / "a.zstd").write_bytes(first + second[:-3])
    assert [line for line in lines_of(tmp_path / "a.zstd") if isinstance(line, bytes)][: len(LINES)] == LINES


@pytest.mark.parametrize("seed", range(30))
def test_damaged_files_end_or_go_on(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    name = chance.choice(["app-1.zstd", "app-1.lz4"])
    content = bytearray(FORMS[name])
    for _ in range(chance.randrange(1, 5)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    (tmp_path / name).write_bytes(bytes(content))
    found = list(lines_of(tmp_path / name))
    assert all(isinstance(line, bytes | CutOffError) for line in found)


def test_an_impossible_block_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.lz4").write_bytes(b"LZ4Block\x25" + (4).to_bytes(4, "little") + (1 << 31).to_bytes(4, "little") + bytes(8))
    (only,) = lines_of(tmp_path / "a.lz4")
    assert isinstance(only, CutOffError) and "impossible size" in str(only)


def test_a_line_that_is_too_long_is_read_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompress, "MOST_LINE_BYTES", 1_000)
    monkeypatch.setattr(decompress, "CHUNK_BYTES", 64)
    (tmp_path / "a").write_bytes(b"one\n" + b"x" * 5_000 + b"\ntwo\n" + b"y" * 1_001 + b"\nthree")
    assert list(lines_of(tmp_path / "a")) == [b"one", None, b"two", None, b"three"]


def test_a_codec_that_nobody_reads_is_named(tmp_path: Path) -> None:
    (tmp_path / "app-1.snappy").write_bytes(b"whatever")
    (only,) = lines_of(tmp_path / "app-1.snappy")
    assert "compressed with snappy" in str(only)


def test_rolled_files_are_read_in_order_and_compacted_ones_stand_for_earlier_ones(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    for name in ("events_10_app-1", "events_2_app-1.zstd", "events_1_app-1", ".events_1_app-1.crc", "appstatus_app-1.inprogress"):
        (folder / name).touch()
    (log,), notes = event_logs([folder])
    assert [file.name for file in log.files] == ["events_1_app-1", "events_2_app-1.zstd", "events_10_app-1"] and not notes
    (folder / "events_2_app-1.zstd.compact").touch()
    (log,), _ = event_logs([folder])
    assert [file.name for file in log.files] == ["events_2_app-1.zstd.compact", "events_10_app-1"]


def test_a_folder_of_logs_has_one_for_each_application(tmp_path: Path) -> None:
    (tmp_path / "eventlog_v2_b").mkdir()
    (tmp_path / "eventlog_v2_b" / "events_1_b").touch()
    for name in ("a", "c.zstd", ".hidden", "_more"):
        (tmp_path / name).touch()
    (tmp_path / "warehouse").mkdir()
    logs, _ = event_logs([tmp_path])
    assert [Path(log.name).name for log in logs] == ["a", "c.zstd", "eventlog_v2_b"]


def test_a_path_given_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    logs, notes = event_logs([tmp_path / "a", tmp_path, tmp_path / "a"])
    assert len(logs) == 1 and len(notes) == 2 and "given twice, read once" in notes[0]


def test_paths_that_are_no_logs(tmp_path: Path) -> None:
    with pytest.raises(AdviceError, match="gone"):
        event_logs([tmp_path / "gone"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(AdviceError, match="no event log is in this folder"):
        event_logs([tmp_path / "empty"])


def test_the_golden_logs_are_small() -> None:
    assert sum(file.stat().st_size for file in LOGS.iterdir()) < 400_000
