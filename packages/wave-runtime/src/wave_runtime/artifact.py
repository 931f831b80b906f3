"""An artifact: a manifest and code, in one directory."""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from wave_runtime.errors import ArtifactError
from wave_runtime.manifest import MAX_MANIFEST, Manifest, digest

MANIFEST = "manifest.json"
MAX_CODE = 1 << 28
"""Bytes of a code object; larger ones come from no compiler."""


@dataclass(frozen=True)
class Artifact:
    """A compiled kernel.

    Attributes:
        manifest: What it is and how to launch it.
        code: In the form that the manifest names.
    """

    manifest: Manifest
    code: bytes

    def __post_init__(self) -> None:
        """Refuse code that is not what the manifest describes.

        Raises:
            ArtifactError: where size or digest differ.
        """
        manifest = self.manifest
        if len(self.code) != manifest.code_bytes:
            raise ArtifactError(
                f"{len(self.code)} bytes of code; the manifest says "
                f"{manifest.code_bytes}"
            )
        if digest(self.code) != manifest.code_digest:
            raise ArtifactError("the code is not what the manifest describes")


def code_file(form: str) -> str:
    """The name of the file with code of a form."""
    return f"code.{form}"


def save_artifact(artifact: Artifact, directory: Path) -> Path:
    """Write an artifact into ``directory``, made if need be; gives the directory.

    Each file is replaced as a whole, and links in its place are not followed.

    Raises:
        ArtifactError: where it cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_whole(directory / code_file(artifact.manifest.form), artifact.code)
        write_whole(directory / MANIFEST, artifact.manifest.to_json())
    except OSError as error:
        reason = error.strerror
        raise ArtifactError(f"cannot write into {directory}: {reason}") from None
    return directory


def write_whole(path: Path, data: bytes, mode: int = 0o666) -> Path:
    """Write a file so that whoever reads it sees all of it or none; its path.

    A link in its place is replaced, not followed.

    Raises:
        OSError: where it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(draft, flags, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return path


def load_artifact(directory: Path) -> Artifact:
    """Read an artifact; nothing of it is executed.

    Raises:
        ArtifactError: where it is missing, damaged, or too large.
    """
    manifest = Manifest.from_json(read_plain(directory / MANIFEST, MAX_MANIFEST))
    limit = min(MAX_CODE, manifest.code_bytes)
    code = read_plain(directory / code_file(manifest.form), limit)
    return Artifact(manifest, code)


def read_plain(path: Path, limit: int) -> bytes:
    """The bytes of a plain file of at most ``limit`` bytes; links are not followed.

    Raises:
        ArtifactError: where it is something else.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            # Opening a device can have effects.
            raise ArtifactError(f"{path} is no plain file")
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > limit:
        raise ArtifactError(f"{path} is larger than {limit} bytes")
    return data
