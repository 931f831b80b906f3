"""The registered kernels: small shapes on both simulators, settings, references."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from wave_core.compile import Session, run_case
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_kernels.cases.norms import EPS
from wave_kernels.plugin import KERNELS

SMALL = {
    "attention": {"B": 2, "M": 33, "N": 17, "K1": 20, "K2": 40},
    "attention-causal": {"B": 2, "M": 70, "N": 17, "K1": 20, "K2": 65},
    "attention-decode": {"B": 2, "M": 3, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "attention-heads": {"B": 2, "M": 33, "H": 3, "N": 17, "K1": 20, "K2": 40},
    "attention-join": {"H": 3, "M": 33, "N": 70},
    "attention-merge": {"B": 2, "M": 3, "N": 70, "SPLIT": 3},
    "attention-keys": {"B": 1, "M": 33, "H": 2, "N": 17, "K1": 20, "K2": 40},
    "attention-queries": {"B": 1, "M": 33, "H": 2, "N": 17, "K1": 20, "K2": 40},
    "attention-split": {"B": 2, "M": 3, "H": 4, "N": 17, "K1": 20, "K2": 66},
    "attention-varlen": {"B": 2, "M": 33, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "attention-varlen-keys": {"B": 2, "M": 33, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "attention-varlen-queries": {"B": 2, "M": 33, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "conv-depthwise": {"N": 2, "H": 7, "W": 9, "C": 65, "HF": 3, "WF": 2},
    "conv2d": {"N": 2, "H": 7, "W": 9, "C": 3, "HF": 3, "WF": 2, "NF": 17},
    "conv2d-input": {"N": 2, "H": 7, "W": 9, "C": 3, "HF": 3, "WF": 2, "NF": 17},
    "conv2d-weight": {"N": 2, "H": 7, "W": 9, "C": 3, "HF": 3, "WF": 2, "NF": 17},
    "copy": {"M": 19, "N": 70},
    "cumsum": {"M": 5, "N": 300},
    "elementwise": {"M": 5, "N": 70},
    "cross-entropy": {"M": 5, "N": 1030},
    "gated": {"M": 5, "N": 70},
    "gather": {"M": 5, "N": 70, "ROWS": 9},
    "gemm": {"M": 33, "N": 17, "K": 50},
    "gemm-batched": {"B": 3, "M": 33, "N": 17, "K": 50},
    "gemm-gated": {"M": 33, "N": 17, "K": 50},
    "gemm-grouped": {"E": 3, "M": 33, "N": 17, "K": 50},
    "gemm-grouped-weights": {"E": 3, "M": 33, "N": 17, "K": 50},
    "gemm-mxfp": {"M": 33, "N": 17, "K": 96},
    "gemm-nbits": {"M": 5, "N": 33, "K": 150},
    "gemm-nn": {"M": 33, "N": 17, "K": 50},
    "gemm-split-k": {"M": 33, "N": 17, "K": 50},
    "gemm-staged": {"M": 33, "N": 17, "K": 50},
    "gemm-stream-k": {"M": 33, "N": 17, "K": 50},
    "gemm-tn": {"M": 33, "N": 17, "K": 50},
    "gemm-tt": {"M": 33, "N": 17, "K": 50},
    "gemv": {"M": 2, "N": 7, "K": 300},
    "gemv-gated": {"M": 2, "N": 7, "K": 300},
    "layer-norm": {"M": 5, "N": 70},
    "moe-combine": {"M": 5, "N": 70, "TOP": 3},
    "moe-group": {"M": 33, "E": 5, "TOP": 3},
    "moe-route": {"M": 5, "E": 70, "TOP": 3},
    "quantize-rows": {"M": 5, "N": 70},
    "rms-norm": {"M": 5, "N": 70},
    "rotary": {"M": 5, "H": 3, "D": 20},
    "scatter": {"M": 5, "N": 70, "ROWS": 9},
    "scatter-add": {"M": 33, "N": 70, "ROWS": 9},
    "softmax": {"M": 5, "N": 70},
    "topk": {"M": 5, "N": 300, "TOP": 3},
    "transpose": {"B": 2, "M": 65, "N": 70},
}
ROWS = ("layer-norm", "quantize-rows", "rms-norm", "softmax")
LAYOUTS = ("gemm", "gemm-batched", "gemm-nn", "gemm-tn", "gemm-tt")
DYNAMIC = (
    "copy",
    *LAYOUTS,
    "gemm-gated",
    "gemm-grouped",
    "gemm-grouped-weights",
    "gemm-staged",
    "gemm-stream-k",
    "gemv",
    "gemv-gated",
    *ROWS,
)
DYNAMIC += ("gemm-nbits", "moe-combine", "moe-group", "moe-route")
DYNAMIC += (
    "attention-join",
    "attention-merge",
    "cross-entropy",
    "cumsum",
    "gated",
    "gather",
    "quantize-rows",
    "rotary",
    "scatter",
    "scatter-add",
    "topk",
    "transpose",
)
FACTORIES = {spec.name: Session().plugins.load_kernel(spec.name) for spec in KERNELS}


@pytest.fixture(scope="module")
def session():
    return Session(announce=lambda _: None)


def case(name, settings=None):
    return make_case(FACTORIES[name], name, SMALL[name], settings or {}, "generic")


def check(session, made, device):
    options = replace(made.options, device=device, poison_outputs=True)
    report = run_case(made, options=options, session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()


def test_every_kernel_has_a_small_shape():
    assert SMALL.keys() == FACTORIES.keys()


@pytest.mark.parametrize("device", ["sim", "sim-logical"])
@pytest.mark.parametrize("name", SMALL)
def test_agrees_with_its_reference(session, name, device):
    check(session, case(name), device)


@pytest.mark.parametrize("name", DYNAMIC)
def test_takes_its_sizes_at_launch(session, name):
    made = case(name, {"DYNAMIC": 1})
    assert made.options.dynamic_symbols
    check(session, made, "sim")


@pytest.mark.parametrize("waves", [1, 4, 8])
@pytest.mark.parametrize("columns", [256, 257, 1000, 2100])
@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_shared_among_waves(session, name, columns, waves):
    sizes, settings = {"M": 2, "N": columns}, {"WAVES_N": waves}
    made = make_case(FACTORIES[name], name, sizes, settings, "generic")
    check(session, made, "sim")


@pytest.mark.covering(1)
@pytest.mark.parametrize("columns", [1, 1023, 1024, 1025, 5003])
@pytest.mark.parametrize("waves", ["", 1, 4])
@pytest.mark.parametrize("dynamic", [0, 1])
@pytest.mark.parametrize("name", ROWS)
def test_waves_go_along_rows_that_they_cannot_hold(
    session, name, dynamic, waves, columns
):
    settings = {"LONG": 1, "DYNAMIC": dynamic} | ({"WAVES_N": waves} if waves else {})
    made = make_case(FACTORIES[name], name, {"M": 2, "N": columns}, settings, "generic")
    check(session, made, "sim")


@pytest.mark.parametrize("columns", [1, 1023, 1024, 1025, 5003])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
def test_sums_along_rows_that_no_wave_can_hold(session, exclusive, reverse, columns):
    settings = {"LONG": 1, "EXCLUSIVE": exclusive, "REVERSE": reverse}
    sizes = {"M": 5, "N": columns}
    made = make_case(FACTORIES["cumsum"], "cumsum", sizes, settings, "generic")
    check(session, made, "sim")


def test_filters_may_move_further(session):
    check(session, case("conv2d", {"STRIDE": 2}), "sim")


@pytest.mark.parametrize("name", SMALL)
def test_outputs_start_poisoned(name):
    made = case(name)
    arguments = made.make_arguments(np.random.default_rng(0))
    for output in (arguments[position] for position in made.outputs):
        assert (np.isnan(output) if output.dtype.kind == "f" else output < -1).all()


@pytest.mark.parametrize("name", SMALL)
def test_inputs_are_fresh(name):
    made = case(name)
    first = made.make_arguments(np.random.default_rng())
    second = made.make_arguments(np.random.default_rng())
    assert not np.array_equal(first[0], second[0])


def reference(name):
    made = case(name)
    arguments = made.make_arguments(np.random.default_rng(0))
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    tensors = [torch.from_numpy(a).double() for a in arrays]
    return torch.from_numpy(made.reference(arguments)[0]), tensors


def test_convolution_is_that_of_torch():
    found, (x, we, _) = reference("conv2d")
    wanted = torch.nn.functional.conv2d(
        x.permute(0, 3, 1, 2), we.permute(3, 2, 0, 1)
    ).permute(0, 2, 3, 1)
    torch.testing.assert_close(found, wanted)


def test_attention_is_that_of_torch():
    found, (q, k, v, _) = reference("attention-heads")
    heads = (each.transpose(1, 2) for each in (q, k, v))
    wanted = torch.nn.functional.scaled_dot_product_attention(*heads)
    torch.testing.assert_close(found, wanted.transpose(1, 2))


def test_causal_attention_is_that_of_torch():
    made = case("attention-causal")
    q, k, v, _ = made.make_arguments(np.random.default_rng(0))
    scale = math.log2(math.e) / q.shape[-1] ** 0.5
    tensors = [torch.from_numpy(x).double() for x in (q, k, v)]
    wanted = torch.nn.functional.scaled_dot_product_attention(
        tensors[0] / scale, *tensors[1:], is_causal=True, scale=scale * math.log(2)
    )
    (found,) = made.reference([q, k, v])
    torch.testing.assert_close(torch.from_numpy(found), wanted)


def test_causal_attention_reads_no_hidden_tile(session):
    shape, settings = {"B": 1, "M": 512, "K2": 512}, {"BLOCK_M": 64, "BLOCK_K2": 64}
    read = {}
    for name in ("attention", "attention-causal"):
        made = make_case(FACTORIES[name], name, shape, settings, "generic")
        options = replace(made.options, device="sim", poison_outputs=True)
        report = run_case(made, options=options, session=session)
        assert report.passed
        read[name] = report.record.counters["instructions"]["mma"]
    # 8 x 8 tiles, of which 8 x 9 / 2 are on the diagonal or below.
    assert read["attention-causal"] * 64 == read["attention"] * 36


def test_norms_are_those_of_torch():
    found, (x, w, _) = reference("rms-norm")
    wanted = torch.nn.functional.rms_norm(x, x.shape[1:], w, EPS)
    torch.testing.assert_close(found, wanted)
    found, (x, w, b, _) = reference("layer-norm")
    wanted = torch.nn.functional.layer_norm(x, x.shape[1:], w, b, EPS)
    torch.testing.assert_close(found, wanted)


def test_softmax_is_that_of_torch():
    found, (rows, _) = reference("softmax")
    torch.testing.assert_close(found, torch.softmax(rows, dim=1))


@pytest.mark.parametrize(
    ("shape", "settings"), [({"Q": 1}, {}), ({}, {"BLOCK": 1}), ({}, {"BLOCK_M": "x"})]
)
def test_unknown_sizes_and_settings_are_refused(shape, settings):
    with pytest.raises(UserError):
        make_case(FACTORIES["gemm"], "gemm", shape, settings, "generic")
