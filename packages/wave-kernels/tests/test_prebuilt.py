"""Installed libraries of prebuilt kernels: listed, refused, called; no compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from wave_kernels import __version__, prebuilt
from wave_kernels.functions import launches, softmax
from wave_kernels.functions.requests import requests_kept
from wave_kernels.prebuilt import PACKAGE, Prebuilt, sources_digest
from wave_runtime import (
    Artifact,
    BindingInfo,
    ConstantInfo,
    DeviceError,
    Entry,
    Index,
    LaunchRefused,
    Manifest,
    NoVariant,
    TensorInfo,
    open_device,
    save_artifact,
)
from wave_runtime.library import INDEX
from wave_runtime.manifest import digest

CODE = b"\x7fELF of a test"


def request_of(rows=3, length=64):
    with requests_kept() as found:
        softmax(torch.empty(rows, length, device="meta"))
    return found[0]


def write(folder, *, version=__version__, sources=None, length=64):
    """A library with a softmax of rows of one length, for no machine in particular."""
    shape = ("M", str(length))
    bindings = tuple(
        BindingInfo(name, "f32", shape, written=name == "b") for name in "ab"
    )
    constants = (ConstantInfo("M", "i32", 1, parameter=False),)
    manifest = Manifest(
        name="softmax",
        target="gfx942",
        parameters=("a", "b"),
        bindings=bindings,
        constants=constants,
        grid=("M",),
        threads=64,
        wave_size=64,
        lds_bytes=0,
        max_extent=1 << 30,
        code_bytes=len(CODE),
        code_digest=digest(CODE),
        versions={},
    )
    place = f"gfx942/softmax/f32-{length}"
    save_artifact(Artifact(manifest, CODE), folder / place)
    entry = Entry(
        function="softmax",
        options={},
        request=request_of().text,
        target="gfx942",
        form="hsaco",
        tensors=tuple(TensorInfo("f32", shape) for _ in "ab"),
        fixed={"N": length},
        tuned={},
        place=place,
        manifest_digest=digest(manifest.to_json()),
    )
    sources = sources_digest() if sources is None else sources
    index = Index(PACKAGE, version, sources, (entry,))
    (folder / INDEX).write_bytes(index.to_json())
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A library on the device that runs nothing, in place of what is installed."""
    found = Prebuilt.of_folders([write(tmp_path)])
    device = open_device("null")
    monkeypatch.setattr(Prebuilt, "device", lambda self, ordinal, kind="": device)
    monkeypatch.setattr(prebuilt, "_ordinal", lambda function, arguments: 0)
    monkeypatch.setattr(prebuilt, "installed", lambda: found)
    monkeypatch.setattr(launches, "installed", lambda: found)
    return found


class Told:
    """A session that keeps what it announces."""

    def __init__(self):
        self.told = {}

    def announce(self, topic, message):
        self.told.setdefault(topic, message)


def asked(session, **sizes):
    """What a function gets on a GPU."""
    device = torch.device("cuda", 0)
    return launches._prebuilt(request_of(**sizes), device, session)


def tensors(rows, length):
    return torch.ones(rows, length), torch.empty(rows, length)


def test_a_call_gets_its_kernel_and_the_reason(here):
    done = prebuilt.run("softmax", *tensors(5, 64))
    assert done.entry is here.entries[0]
    assert "compiled for N=64" in done.reason


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: prebuilt.run("softmax", *tensors(5, 65)), "f32 [M, 64]"),
        (lambda: prebuilt.run("softmax", *tensors(5, 64), causal=True), "options {}"),
        (lambda: prebuilt.run("hardmax", *tensors(5, 64)), "no prebuilt kernel for"),
    ],
)
def test_what_nothing_does_is_one_clear_error(here, call, words):
    with pytest.raises(NoVariant) as caught:
        call()
    assert words in str(caught.value)
    assert "pip install 'wave-kernels[compile]'" in str(caught.value)


def test_arguments_that_do_not_fit_are_refused_before_anything_runs(here):
    a, _ = tensors(5, 64)
    with pytest.raises(LaunchRefused):
        prebuilt.run("softmax", a, a)


def test_kernels_are_listed(here):
    (row,) = prebuilt.kernels()
    assert row["function"] == "softmax"
    assert row["tensors"] == ["f32 [M, 64]"] * 2


def test_functions_take_the_kernel_of_a_library(here):
    request = request_of()
    found = launches._prebuilt(
        request, torch.device("cuda", 0), launches.default_session()
    )
    assert found.choice.entry is here.entries[0]
    loaded = found.loaded
    another = request_of(rows=9)
    again = launches._prebuilt(
        another, torch.device("cuda", 0), launches.default_session()
    )
    assert again.loaded is loaded


def test_functions_say_once_that_they_compile_what_no_library_has(here):
    session = Told()
    for length in (65, 66):
        assert asked(session, length=length) is None
    (message,) = session.told.values()
    assert "one is for N=64; it is compiled" in message


def test_tensors_of_the_cpu_are_simulated_without_a_word(here):
    session = Told()
    assert launches._prebuilt(request_of(), torch.device("cpu"), session) is None
    assert session.told == {}


def test_damaged_code_is_told_once_and_compiled_instead(here, tmp_path):
    (code,) = tmp_path.rglob("code.hsaco")
    code.write_bytes(CODE[::-1])
    session = Told()
    for _ in range(2):
        assert asked(session) is None
    (message,) = session.told.values()
    assert "not what the manifest describes" in message


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"version": "9.9"}, "kernels 9.9"), ({"sources": "x"}, "other sources")],
)
def test_foreign_libraries_are_refused_and_told_once(
    fields, words, tmp_path, monkeypatch
):
    found = Prebuilt.of_folders([write(tmp_path, **fields)])
    assert not found.libraries
    monkeypatch.setattr(launches, "installed", lambda: found)
    session = Told()
    for _ in range(2):
        assert asked(session) is None
    (message,) = session.told.values()
    assert words in message
    monkeypatch.setattr(prebuilt, "installed", lambda: found)
    with pytest.raises(NoVariant, match=words):
        prebuilt.run("softmax", *tensors(5, 64))


def test_the_unsigned_is_refused_where_a_signature_is_required(tmp_path, monkeypatch):
    key = tmp_path / "key.pem"
    monkeypatch.setenv("WAVE_REQUIRE_SIGNED", "on")
    monkeypatch.setenv("WAVE_TRUSTED_KEYS", str(key))
    (why,) = Prebuilt.of_folders([write(tmp_path)]).refused
    assert "is not signed" in why


def test_tensors_of_the_cpu_are_refused_politely(tmp_path, monkeypatch):
    found = Prebuilt.of_folders([write(tmp_path)])
    monkeypatch.setattr(prebuilt, "installed", lambda: found)
    with pytest.raises(DeviceError, match="runs on a GPU; an argument is on cpu"):
        prebuilt.run("softmax", *tensors(5, 64))


def test_without_libraries_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(prebuilt, "installed", Prebuilt)
    with pytest.raises(NoVariant, match=r"no prebuilt kernels are installed.*compile"):
        prebuilt.run("softmax")


LISTED = """
import sys, wave_kernels.prebuilt as prebuilt
assert prebuilt.kernels() == [], "nothing of it is installed here"
print(*{name.partition(".")[0] for name in sys.modules})
"""


def test_listing_loads_neither_torch_nor_a_compiler():
    done = subprocess.run(
        [sys.executable, "-c", LISTED], capture_output=True, text=True, check=True
    )
    loaded = {"torch", "sympy", "numpy", "wave_core", "cryptography"}
    assert set(done.stdout.split()) & loaded == set()
