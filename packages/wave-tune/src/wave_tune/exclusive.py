"""One measurement at a time on a device, whoever asks."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(device: str) -> Generator[None]:
    """A block in which no other process of this machine measures on a device.

    Others compile meanwhile. The lock goes with the process that holds it.
    """
    from filelock import FileLock  # noqa: PLC0415 - where something is measured

    name = hashlib.sha256(device.encode()).hexdigest()[:12]
    with FileLock(Path(tempfile.gettempdir()) / f"wave-tune-{name}.lock", mode=0o666):
        yield
