"""Ed25519 by the library `cryptography`, which is an extra: keys are files in PEM."""

from __future__ import annotations

from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_pem_public_key,
)

from wave_runtime.artifact import read_plain
from wave_runtime.errors import ArtifactError

MAX_KEY = 1 << 14
"""Bytes of a file with a key."""


def signature(message: bytes, private_key: Path) -> bytes:
    """The signature of a message; the key has no password.

    Raises:
        ArtifactError: where the key is none.
    """
    try:
        key = load_pem_private_key(read_plain(private_key, MAX_KEY), None)
    except (ValueError, TypeError) as error:
        raise ArtifactError(f"{private_key} is no private key: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ArtifactError(f"{private_key} is no Ed25519 key")
    return key.sign(message)


def is_signed(public_key: Path, given: bytes, message: bytes) -> bool:
    """Whether a signature of a message is by this key.

    Raises:
        ArtifactError: where the key is none.
    """
    try:
        key = load_pem_public_key(read_plain(public_key, MAX_KEY))
    except ValueError as error:
        raise ArtifactError(f"{public_key} is no public key: {error}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise ArtifactError(f"{public_key} is no Ed25519 key")
    try:
        key.verify(given, message)
    except InvalidSignature:
        return False
    return True
