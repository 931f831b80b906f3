"""Prebuilt kernels as machine code in the emulators, and wheels with equal bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from itertools import accumulate, pairwise
from pathlib import Path

import msgspec
import pytest
import torch
import torch.nn.functional as torch_functions

import workspace
from wave_core.compile.emission import emit
from wave_kernels import __version__
from wave_kernels.building import compiling
from wave_kernels.building.calls import every_call
from wave_kernels.prebuilt import PACKAGE, Prebuilt, sources_digest
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


def random(*shape, dtype):
    return torch.randn(shape).to(dtype)


def softmax(dtype, rows, length):
    x = random(rows, length, dtype=dtype)
    return [x], x.double().softmax(-1), 1e-5


def rms_norm(dtype, rows, length):
    x, weight = random(rows, length, dtype=dtype), random(length, dtype=dtype)
    wide = x.double()
    root = (wide.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return [x, weight, 1e-5], wide / root * weight.double(), 1e-5


def matmul(dtype, m, n, k, *, ending=lambda sums: sums):
    a, b = random(m, k, dtype=dtype), random(n, k, dtype=dtype)
    return [a, b], ending(a.double() @ b.double().mT), 1e-3 * k


def attention(dtype, b, h, m, keys, d, group):
    q = random(b, h, m, d, dtype=dtype)
    k, v = (random(b, h // group, keys, d, dtype=dtype) for _ in range(2))
    wide = (each.double().repeat_interleave(group, 1) for each in (k, v))
    mask = torch.ones(m, keys, dtype=torch.bool).tril(keys - m)
    wanted = torch_functions.scaled_dot_product_attention(
        q.double(), *wide, attn_mask=mask
    )
    return [q, k, v], wanted, 4e-3


def attention_decode(dtype, lengths, heads, group):
    slots, ends = sum(lengths) + 3, torch.tensor([0, *accumulate(lengths)]).int()
    q = random(len(lengths), heads, group, 128, dtype=dtype)
    k, v = (random(slots, heads, 128, dtype=dtype) for _ in range(2))
    table = torch.randperm(slots)[: sum(lengths)].int()
    pages = [table[start:end].long() for start, end in pairwise(ends.tolist())]
    wide = [(k[page].double(), v[page].double()) for page in pages]
    powers = [
        torch.einsum("hmd,shd->hms", one.double(), keys) * 128**-0.5
        for one, (keys, _) in zip(q, wide, strict=True)
    ]
    wanted = [
        torch.einsum("hms,shd->hmd", each.softmax(-1), values)
        for each, (_, values) in zip(powers, wide, strict=True)
    ]
    return [q, k, v, ends, table], torch.stack(wanted), 4e-3


CASES = {
    "softmax-f16-1024": lambda: softmax(torch.float16, 3, 1024),
    "rms_norm-bf16-1024": lambda: rms_norm(torch.bfloat16, 2, 1024),
    "matmul-f16-nt-silu": lambda: matmul(
        torch.float16, 17, 9, 35, ending=torch_functions.silu
    ),
    "attention-f16-bhsd-d64-causal-group4": lambda: attention(
        torch.float16, 1, 4, 70, 75, 64, 4
    ),
}
LARGE = {
    "attention_decode-f16-d128-paged-group4": lambda: attention_decode(
        torch.float16, (1, 70, 129), 2, 4
    ),
    "matmul-bf16-nt-4096x4096-m16": lambda: matmul(torch.bfloat16, 5, 4096, 4096),
    "matmul-bf16-nt-4096x4096-m4096": lambda: matmul(torch.bfloat16, 3, 4096, 4096),
}
ULP = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}


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


def check(name, target, make):
    given, wanted, accuracy = make()
    out = torch.full(wanted.shape, torch.nan, dtype=given[0].dtype)
    LoadedKernel(built(name, target), open_device(TARGETS[target]))(*given, out)
    scale = max(1.0, float(wanted.abs().max()))
    assert (out.double() - wanted).abs().max() <= accuracy + ULP[out.dtype] * scale


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
