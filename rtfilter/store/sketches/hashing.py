"""The one hash of the store: xxHash64 with seed 0, vectorised.

Source: the xxHash specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md, XXH64). Parquet's own bloom filters use the same
hash and seed. A whole number is hashed as its 8 bytes in little-endian order, a byte string as it is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rtfilter.store.sketches.arrays import Bytes, ByteStrings, Int64s, UInt64s

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)
_STRIPE_BYTES = 32
# Strings of one length are hashed as a matrix of at most this size, in bytes.
_MATRIX_BYTES = 16 << 20


def hash_longs(values: Int64s) -> UInt64s:
    """The hash of each whole number."""
    accumulated = np.full(len(values), _P5 + np.uint64(8), dtype=np.uint64)
    return _avalanche(_mix_lane(accumulated, values.view(np.uint64)))


def hash_strings(strings: ByteStrings) -> UInt64s:
    """The hash of each byte string."""
    out = np.empty(len(strings), dtype=np.uint64)
    lengths = strings.lengths
    for length in np.unique(lengths).tolist():
        at = np.flatnonzero(lengths == length)
        rows = max(1, _MATRIX_BYTES // max(1, length))
        for begin in range(0, len(at), rows):
            part = at[begin : begin + rows]
            matrix = strings.blob[strings.offsets[part][:, None] + np.arange(length, dtype=np.int64)]
            out[part] = _hash_matrix(np.ascontiguousarray(matrix))
    return out


def _hash_matrix(matrix: Bytes) -> UInt64s:
    """The hash of each row of a matrix of bytes."""
    rows, length = matrix.shape
    stripes_end = length - length % _STRIPE_BYTES
    accumulated = _stripes(matrix[:, :stripes_end]) if stripes_end else np.full(rows, _P5, dtype=np.uint64)
    # Unsigned overflow is what the hash is made of; numpy warns of it for scalars only.
    accumulated = accumulated + np.uint64(length)
    at = stripes_end
    while at + 8 <= length:
        accumulated = _mix_lane(accumulated, _words(matrix[:, at : at + 8], "<u8"))
        at += 8
    if at + 4 <= length:
        accumulated = accumulated ^ (_words(matrix[:, at : at + 4], "<u4") * _P1)
        accumulated = _rotated(accumulated, 23) * _P2 + _P3
        at += 4
    for position in range(at, length):
        accumulated = accumulated ^ (matrix[:, position].astype(np.uint64) * _P5)
        accumulated = _rotated(accumulated, 11) * _P1
    return _avalanche(accumulated)


def _stripes(matrix: Bytes) -> UInt64s:
    rows = matrix.shape[0]
    with np.errstate(over="ignore"):
        starts = (_P1 + _P2, _P2, np.uint64(0), np.uint64(0) - _P1)
    lanes = [np.full(rows, start, dtype=np.uint64) for start in starts]
    for begin in range(0, matrix.shape[1], _STRIPE_BYTES):
        for lane in range(4):
            at = begin + 8 * lane
            lanes[lane] = _round(lanes[lane], _words(matrix[:, at : at + 8], "<u8"))
    merged = _rotated(lanes[0], 1) + _rotated(lanes[1], 7) + _rotated(lanes[2], 12) + _rotated(lanes[3], 18)
    for each in lanes:
        merged = (merged ^ _round(np.zeros(rows, dtype=np.uint64), each)) * _P1 + _P4
    return merged


def _words(columns: Bytes, kind: str) -> UInt64s:
    words: npt.NDArray[np.uint64] = np.ascontiguousarray(columns).view(kind)[:, 0].astype(np.uint64)
    return words


def _round(accumulated: UInt64s, lane: UInt64s) -> UInt64s:
    stepped: UInt64s = _rotated(accumulated + lane * _P2, 31) * _P1
    return stepped


def _mix_lane(accumulated: UInt64s, lane: UInt64s) -> UInt64s:
    mixed: UInt64s = _rotated(accumulated ^ _round(np.zeros(len(lane), dtype=np.uint64), lane), 27) * _P1 + _P4
    return mixed


def _rotated(values: UInt64s, bits: int) -> UInt64s:
    rotated: UInt64s = (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))
    return rotated


def _avalanche(values: UInt64s) -> UInt64s:
    values = (values ^ (values >> np.uint64(33))) * _P2
    values = (values ^ (values >> np.uint64(29))) * _P3
    spread: UInt64s = values ^ (values >> np.uint64(32))
    return spread
