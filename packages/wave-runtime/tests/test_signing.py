"""Signatures: what is trusted, and what is refused."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from libraries import write_library

from wave_runtime import ArtifactError, Library, Trust, signature_of
from wave_runtime.library import INDEX
from wave_runtime.signing import SIGNATURE


def write_keys(folder, name, key=None):
    key = key or ed25519.Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.key", folder / f"{name}.pem"
    plain = form.NoEncryption()
    pkcs = form.PrivateFormat.PKCS8
    private.write_bytes(key.private_bytes(form.Encoding.PEM, pkcs, plain))
    info = form.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(key.public_key().public_bytes(form.Encoding.PEM, info))
    return private, public


@pytest.fixture
def signed(artifact, tmp_path):
    folder = write_library(tmp_path / "library", artifact)
    private, public = write_keys(tmp_path, "maker")
    data = (folder / INDEX).read_bytes()
    (folder / SIGNATURE).write_bytes(signature_of(data, private))
    return folder, public


def test_who_signed_is_told(signed):
    folder, public = signed
    found = Library.open(folder, Trust((public,), required=True))
    assert found.signer == "maker"


def test_signatures_of_equal_bytes_are_equal(tmp_path):
    private, _ = write_keys(tmp_path, "maker")
    assert signature_of(b"index", private) == signature_of(b"index", private)


def test_the_unsigned_is_refused_where_a_signature_is_required(signed):
    folder, public = signed
    (folder / SIGNATURE).unlink()
    assert not Library.open(folder, Trust((public,))).signer
    with pytest.raises(ArtifactError, match="is not signed"):
        Library.open(folder, Trust((public,), required=True))
    with pytest.raises(ArtifactError, match="names no key"):
        Library.open(folder, Trust(required=True))


def test_a_strangers_signature_is_refused_even_where_none_is_required(signed, tmp_path):
    folder, _ = signed
    _, other = write_keys(tmp_path, "other")
    with pytest.raises(ArtifactError, match="none of the trusted keys"):
        Library.open(folder, Trust((other,)))


@pytest.mark.parametrize("file", [INDEX, SIGNATURE])
def test_any_change_of_what_is_signed_is_seen(signed, file):
    folder, public = signed
    path = folder / file
    data = path.read_bytes()
    path.write_bytes(data[:20] + (b"1" if data[20:21] != b"1" else b"2") + data[21:])
    with pytest.raises(ArtifactError):
        Library.open(folder, Trust((public,)))


@pytest.mark.parametrize("text", [b"", b"xyz", b"00" * 63, b"00" * 65])
def test_what_is_no_signature_is_refused(signed, text):
    folder, public = signed
    (folder / SIGNATURE).write_bytes(text)
    with pytest.raises(ArtifactError):
        Library.open(folder, Trust((public,)))


def test_keys_of_another_kind_are_refused(signed, tmp_path):
    folder, _ = signed
    private, public = write_keys(
        tmp_path, "ec", ec.generate_private_key(ec.SECP256R1())
    )
    with pytest.raises(ArtifactError, match="no Ed25519 key"):
        Library.open(folder, Trust((public,)))
    with pytest.raises(ArtifactError, match="no Ed25519 key"):
        signature_of(b"index", private)
    with pytest.raises(ArtifactError, match="no private key"):
        signature_of(b"index", public)


def test_the_environment_says_whom_to_trust(tmp_path):
    found = Trust.of_environment(
        {"WAVE_TRUSTED_KEYS": f"{tmp_path / 'a.pem'}", "WAVE_REQUIRE_SIGNED": "on"}
    )
    assert found == Trust((tmp_path / "a.pem",), required=True)
    assert Trust.of_environment({}) == Trust()
    with pytest.raises(ArtifactError, match="on or off"):
        Trust.of_environment({"WAVE_REQUIRE_SIGNED": "maybe"})


def test_without_the_extra_the_error_names_it(signed, monkeypatch):
    folder, public = signed
    monkeypatch.setattr("wave_runtime.signing.find_spec", lambda name: None)
    with pytest.raises(ArtifactError, match=r"wave-runtime\[signed\]"):
        Library.open(folder, Trust((public,)))
