"""Prebuilt kernels as machine code in the emulators, and wheels with equal bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import msgspec
import pytest
import torch
from prebuilt_references import REFERENCES, Draw, called

import workspace
from wave_core.compile.emission import emit
from wave_kernels import __version__
from wave_kernels.building import compiling
from wave_kernels.building.calls import every_call
from wave_kernels.prebuilt import PACKAGE, Prebuilt, row_of, sources_digest
from wave_runtime import (
    Artifact,
    Index,
    LoadedKernel,
    choose,
    of_sizes,
    of_tensors,
    open_device,
)
from wave_runtime.choice import Runs
from wave_runtime.library import INDEX
from wave_runtime.manifest import digest

TARGETS = {"gfx942": "emulator", "gfx950": "emulator", "sm_90a": "emulator-ptx"}


CASES = {
    "softmax-f16-1024": 3,
    "rms_norm-bf16-1024": 2,
    "matmul-f16-nt-silu": 17,
    "attention-f16-bhsd-d64-causal-group4": 17,
    "attention-f16-bshd-d64-one-parts-group4": 135,
    "gated_activation-f32-gelu": 3,
    "rotary_embedding-bf16-d64": 3,
    "cross_entropy-f32": 3,
    "route_tokens-8x14336": 3,
    "group_tokens-128x768": 17,
    "combine_tokens-f16-128x768": 3,
    "attention_decode-f16-d128-merge": 2,
}
"""Rows that each is called with."""

LARGE = {
    "layer_norm-f32-1024": 3,
    "gather_rows-bf16": 17,
    "attention-bf16-bhsd-d128-one": 17,
    "attention-bf16-bhsd-d64-one-parts-group8": 200,
    "attention-f16-bshd-d128-one-group4": 1,
    "attention-bf16-d64-merge": 2,
    "attention_varlen-bf16-d128-paged-one": 1,
    "attention_decode-f16-d128-paged-group4": 1,
    "attention_decode-bf16-d128-paged-parts": 1,
    "matmul-bf16-nt-4096x4096-m16": 5,
    "matmul-bf16-nt-4096x4096-m4096": 3,
    "matmul_nbits-f16-u4-g128-4096x4096-m16": 3,
    "grouped_matmul-f16-128x768-m16": 17,
    "grouped_swiglu-f16-128x768-m16": 3,
}


def built(name, target):
    """The artifact of a call that an emulator runs: for NVIDIA its text."""
    call = compiling.calls()[name]
    request = call.request
    artifact = compiling.compiled(request, call, target)
    if not target.startswith("sm_"):
        return artifact
    left, chosen = compiling.ways(request, call, target)
    options = chosen[0] if chosen else left
    kernel = request.make(**request.what)
    files = emit(options, kernel, "ptx", compiling.quiet_session()).files
    (text,) = files.values()
    fields = {"form": "ptx", "code_bytes": len(text), "code_digest": digest(text)}
    return Artifact(msgspec.structs.replace(artifact.manifest, **fields), text)


def check(name, target, rows):
    call, artifact = compiling.calls()[name], built(name, target)
    entry = compiling.entry_of(call, call.request, artifact.manifest, name)
    draw = Draw(row_of(entry), "cpu", rows)
    given, wanted = REFERENCES[call.function](draw)
    kernel = LoadedKernel(artifact, open_device(TARGETS[target]))
    assert all(error <= limit for error, limit in called(kernel, draw, given, wanted))


def test_every_function_that_is_built_has_a_reference_and_a_case():
    functions = {call.function for call in every_call()}
    assert {*REFERENCES} == functions
    assert {name.partition("-")[0] for name in CASES | LARGE} == functions


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_prebuilt_code_is_right_at_sizes_that_it_was_not_made_for(name, target):
    check(name, target, CASES[name])


@pytest.mark.fuzz
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", LARGE)
def test_prebuilt_code_of_layers_is_right(name, target):
    check(name, target, LARGE[name])


def library(folder, *pieces):
    rows = [compiling.build(name, target, str(folder)) for name, target in pieces]
    entries = tuple(msgspec.json.decode(row, type=compiling.Entry) for row in rows)
    index = Index(PACKAGE, __version__, sources_digest(), entries)
    (folder / INDEX).write_bytes(index.to_json())
    return Prebuilt.of_folders([folder])


def test_a_function_finds_what_was_built_for_it(tmp_path):
    found = library(tmp_path, ("softmax-f16-1024", "gfx942"))
    (entry,) = found.entries
    from wave_kernels.functions import softmax as function
    from wave_kernels.functions.requests import requests_kept

    with requests_kept() as asked:
        for length in (1024, 1000):
            function(torch.empty(7, length, dtype=torch.float16, device="meta"))
    right, other = asked
    assert right.text == entry.request
    runs = Runs(("gfx942",), ("gfx942",))
    assert choose(found.entries, of_sizes(right.sizes), runs, "s").entry is entry
    assert choose(found.entries, of_sizes(other.sizes), runs, "s").entry is None
    given = [("f16", (7, 1024))] * 2
    assert choose(found.entries, of_tensors(given), runs, "s").entry is entry


@pytest.mark.parametrize("target", ["gfx942", "sm_90a"])
def test_the_same_sources_give_the_same_bytes(target, tmp_path, monkeypatch):
    monkeypatch.setenv("WAVE_CACHE", "off")
    trees = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        compiling.quiet_session.cache_clear()
        compiling.build("softmax-f16-1024", target, str(folder))
        files = (path for path in folder.rglob("*") if path.is_file())
        trees.append({p.relative_to(folder): p.read_bytes() for p in files})
    compiling.quiet_session.cache_clear()
    assert trees[0] == trees[1]


MAIN = "from wave_core.cli import main; main()"


def build(folder, *arguments):
    command = [sys.executable, "-c", MAIN, "build-kernels", "-o", str(folder)]
    environment = {**os.environ, "WAVE_CACHE": "off"}
    done = subprocess.run(
        [*command, "--json", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


CORES, LONGEST_S = 2, 300
"""What a whole library may take, for each target."""


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "sm_80", "sm_90a"])
def test_whole_wheels_have_equal_bytes(target, tmp_path):
    found = [build(tmp_path / each, "--targets", target) for each in ("one", "two")]
    assert [each["failed"] for each in found] == [[], []]
    assert found[0]["built"] == len(every_call())
    assert min(each["cpu_seconds"] for each in found) <= CORES * LONGEST_S
    one, two = (Path(each["wheel"]).read_bytes() for each in found)
    assert one == two


INSTALLED = """
import sys, time
started = time.perf_counter()
from wave_kernels import prebuilt
rows = prebuilt.kernels()
seconds = time.perf_counter() - started
assert [row["function"] for row in rows] == ["softmax"], rows
assert not {"torch", "wave_core", "sympy", "numpy"} & {*sys.modules}
import numpy
from wave_runtime import DeviceError
x = numpy.zeros((3, 1024), numpy.float16)
try:
    prebuilt.run("softmax", x, x.copy())
except DeviceError as error:
    print(seconds, error)
"""


@pytest.mark.fuzz
@pytest.mark.timeout(1200)
def test_a_wheel_is_enough_where_no_compiler_is_installed(tmp_path):
    wheel = build(tmp_path, "--targets", "sm_90a", "--only", "softmax-f16-1024")[
        "wheel"
    ]
    place = tmp_path / "fresh"
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    packages = [p for p in workspace.packages() if p.name in (PACKAGE, "wave-runtime")]
    constraints = ("-c", str(workspace.TESTED))
    install = [str(python), "-m", "pip", "install", "-q", *constraints]
    sources = [str(package.directory) for package in packages]
    subprocess.run([*install, "numpy", *sources, wheel], check=True)
    times = []
    for _ in range(3):
        done = subprocess.run(
            [str(python), "-c", INSTALLED], capture_output=True, text=True, check=True
        )
        seconds, _, error = done.stdout.partition(" ")
        times.append(float(seconds))
    assert min(times) < 0.3
    assert "GPU" in error or "driver" in error or "library" in error
