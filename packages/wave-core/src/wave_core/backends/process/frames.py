"""Messages on a pipe: the length in eight bytes, then the bytes."""

from __future__ import annotations

import os
import struct

_HEAD = struct.Struct("<Q")

LIMIT = struct.Struct("<Q")
"""The head of a request: the memory that its compilation may hold, in MiB."""


def send(pipe: int, data: bytes) -> None:
    """Write one message.

    Raises:
        OSError: where nobody reads.
    """
    rest = memoryview(_HEAD.pack(len(data)) + data)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def receive(pipe: int) -> bytes | None:
    """One message; ``None`` where the other side has closed the pipe."""
    head = _exactly(pipe, _HEAD.size)
    return None if head is None else _exactly(pipe, _HEAD.unpack(head)[0])


def _exactly(pipe: int, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = os.read(pipe, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
