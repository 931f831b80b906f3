"""Signatures of libraries: Ed25519, by a key that stands beside no code.

A signature is a file of its own beside the index, so that what is signed has the same
bytes whoever signs it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from wave_runtime.artifact import read_plain
from wave_runtime.errors import ArtifactError
from wave_runtime.manifest import digest

SIGNATURE = "library.sig"
"""Hexadecimal digits of the signature of the digest of the index."""

SIGNATURE_BYTES = 64
"""Source: RFC 8032, 5.1.6."""

REQUIRE = "WAVE_REQUIRE_SIGNED"
KEYS = "WAVE_TRUSTED_KEYS"

_SAID = b"wave library "
"""In front of the digest: the key's signature of anything else is none of a library."""

_DIGITS = re.compile(rb"[0-9a-f]{128}\n?")
_SWITCH = {"": False, "0": False, "off": False, "1": True, "on": True}


@dataclass(frozen=True)
class Trust:
    """Whose signatures count.

    Attributes:
        keys: Files with public keys in PEM; who signed is told by their names.
        required: Whether what nobody of them signed is refused.
    """

    keys: tuple[Path, ...] = ()
    required: bool = False

    @classmethod
    def of_environment(cls, environ: Mapping[str, str] = os.environ) -> Trust:
        """``WAVE_TRUSTED_KEYS``, paths as in ``PATH``; ``WAVE_REQUIRE_SIGNED=on``.

        Raises:
            ArtifactError: where the switch is no switch.
        """
        switch = environ.get(REQUIRE, "").strip().lower()
        if switch not in _SWITCH:
            raise ArtifactError(f"{REQUIRE} is `{switch}`: it is on or off")
        keys = filter(None, environ.get(KEYS, "").split(os.pathsep))
        return cls(tuple(map(Path, keys)), _SWITCH[switch])

    def signer_of(self, signature: Path, signed: bytes) -> str:
        """The name of the key by which ``signed`` was signed; empty without one.

        A signature is looked at where there are keys. One by none of them is refused,
        whether one is required or not.

        Raises:
            ArtifactError: where the signature is missing, wrong or a stranger's.
        """
        if self.required and not self.keys:
            raise ArtifactError(f"{REQUIRE} is on, and {KEYS} names no key")
        if not self.keys:
            return ""
        if not signature.exists():
            if self.required:
                raise ArtifactError(f"{signature.parent} is not signed")
            return ""
        given = _signature(signature)
        is_signed = _ed25519().is_signed
        for path in self.keys:
            if is_signed(path, given, _message(signed)):
                return path.stem
        raise ArtifactError(
            f"{signature} is by none of the trusted keys, or the library was changed"
        )


def signature_of(signed: bytes, private_key: Path) -> bytes:
    """The text of the signature of an index; equal ones for equal bytes.

    Args:
        signed: The index.
        private_key: A file with an Ed25519 key in PEM, without a password.

    Raises:
        ArtifactError: where the key is none.
    """
    made = _ed25519().signature(_message(signed), private_key)
    return made.hex().encode() + b"\n"


def _ed25519() -> ModuleType:
    """What computes signatures.

    Raises:
        ArtifactError: where the library that it needs is not installed.
    """
    if find_spec("cryptography") is None:
        raise ArtifactError("signatures need `pip install 'wave-runtime[signed]'`")
    from wave_runtime import ed25519  # noqa: PLC0415 - needs an extra

    return ed25519


def _signature(path: Path) -> bytes:
    text = read_plain(path, 2 * SIGNATURE_BYTES + 1)
    if not _DIGITS.fullmatch(text):
        raise ArtifactError(f"{path} is no signature")
    return bytes.fromhex(text.decode())


def _message(signed: bytes) -> bytes:
    return _SAID + digest(signed).encode()
