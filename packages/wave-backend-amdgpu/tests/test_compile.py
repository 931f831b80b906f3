"""Kernels to code objects, without a GPU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wave_backend_amdgpu.bindings import KEPT
from wave_backend_amdgpu.codegen.options import CodeOptions
from wave_backend_amdgpu.compile.backend import (
    Settings,
    compile_graph,
    compile_vmfb,
    mlir_of,
)
from wave_backend_amdgpu.compile.flags import code_flags
from wave_backend_amdgpu.compile.kernel_passes import kernel_passes
from wave_backend_amdgpu.compile.request import Form, Request
from wave_backend_amdgpu.compile.worker import Worker
from wave_backend_amdgpu.plugin import chips
from wave_runtime.iree_hal import function_names

KERNELS = (
    *("attention", "attention-heads", "conv-depthwise", "conv2d", "copy"),
    *("gemm", "gemm-staged", "layer-norm", "rms-norm", "softmax"),
)
MACHINE_AMDGPU = 224


@pytest.fixture(scope="module")
def worker():
    found = Worker()
    yield found
    found.close()


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", chips())
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_for_every_target(lowered, worker, name, target):
    graph, chip = lowered(name, target)
    code = compile_graph(graph, chip, Settings(worker=worker)).artifact.code
    assert code[:4] == b"\x7fELF"
    assert int.from_bytes(code[18:20], "little") == MACHINE_AMDGPU
    # MLIR that is given goes through all of IREE's passes.
    _, text = mlir_of(graph, chip, Settings())
    settings = Settings(worker=worker, override=text)
    assert compile_graph(graph, chip, settings).artifact.code == code


def test_generated_mlir_is_verified_where_it_is_read(lowered, worker):
    graph, chip = lowered("softmax")
    _, text = mlir_of(graph, chip, Settings())
    flags = code_flags(chip, CodeOptions())
    broken = text.replace("sizes = [2]", "sizes = [9]", 1)
    assert broken != text
    (message,) = worker.run(Request(broken, Form.CODE, flags), 60).errors
    assert "'vector.extract_strided_slice' op" in message


def test_more_sets_of_options_than_are_kept(lowered, worker):
    graph, chip = lowered("copy")
    each = [CodeOptions(waves_per_eu=count) for count in range(1, KEPT + 2)]

    def compiled():
        settings = [Settings(code, worker=worker) for code in each]
        return [compile_graph(graph, chip, s).artifact.code for s in settings]

    assert compiled() == compiled()


@pytest.mark.parametrize("name", ["gemm", "copy", "softmax"])
def test_sizes_that_come_with_the_launch(lowered, worker, name):
    graph, chip = lowered(name, settings={"DYNAMIC": 1})
    manifest = compile_graph(graph, chip, Settings(worker=worker)).artifact.manifest
    assert "M" in {row.name for row in manifest.constants}
    assert "M" in "".join(manifest.grid)


@pytest.mark.parametrize(
    ("op", "branches"), [("math.erf %x", True), ("scf.for", True), ("math.exp2", False)]
)
def test_branches_are_lowered_where_some_come_to_be(op, branches):
    assert ("convert-scf-to-cf" in kernel_passes((), op)) is branches


def test_matrix_instructions_are_in_the_code(lowered, worker):
    graph, chip = lowered("gemm")
    settings = Settings(worker=worker, intermediates=True)
    text = compile_graph(graph, chip, settings).assembly
    assert text.count("v_mfma_f32_16x16x16_f16") >= 32
    assert "buffer_load_dwordx" in text


def test_barriers_and_lds_are_in_the_code(lowered, worker):
    graph, chip = lowered("gemm-staged")
    output = compile_graph(graph, chip, Settings(worker=worker, intermediates=True))
    assert output.artifact.manifest.lds_bytes == 2 * 128 * 32 * 2
    assert "s_barrier" in output.assembly.split()
    assert "ds_write" in output.assembly


def test_user_lines_reach_the_mlir_and_the_debug_information(lowered):
    graph, chip = lowered("softmax")
    _, text = mlir_of(graph, chip, Settings())
    assert 'softmax.py":' in text
    plain = compile_graph(graph, chip).artifact.code
    debug = compile_graph(graph, chip, Settings(CodeOptions(debug=True))).artifact.code
    assert b".debug_line" in debug
    assert b".debug_line" not in plain


def test_each_line_is_of_its_own_file(lowered, worker):
    graph, chip = lowered("softmax")
    settings = Settings(CodeOptions(debug=True), worker=worker, intermediates=True)
    text = compile_graph(graph, chip, settings).assembly
    files = dict(
        re.findall(r'\.file\s+(\d+) .*?([^/"]+)"(?: md5|$)', text, re.MULTILINE)
    )
    # Line 0 is of what the compiler adds by itself.
    rows = re.findall(r"\.loc\s+(\d+) ([1-9]\d*)", text)
    found = {(files[file], int(line)) for file, line in rows}
    spans = [
        part.spans[0]
        for op in graph.walk()
        if op.location is not None
        for part in op.location.parts
    ]
    known = {(Path(each.file).name, each.line) for each in spans}
    known.add((Path(graph.location.file).name, graph.location.line))
    assert {name for name, _ in found} == {"softmax.py", "rows.py"}
    assert found <= known


@pytest.mark.parametrize("name", ["copy", "gemm"])
def test_module_for_iree_has_the_function(lowered, name):
    graph, chip = lowered(name)
    assert name in function_names(compile_vmfb(graph, chip).code)


def test_module_for_iree_with_sizes_of_the_launch(lowered):
    graph, chip = lowered("gemm", settings={"DYNAMIC": 1})
    assert "gemm" in function_names(compile_vmfb(graph, chip).code)
