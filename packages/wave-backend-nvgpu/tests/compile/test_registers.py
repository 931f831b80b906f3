"""Kernels of the library have registers for all that they compute, nothing set."""

from __future__ import annotations

import json
import logging
import time

import pytest

from wave_core.compile import Config, Session
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError

MATRICES = [
    dict(zip("MNK", sizes, strict=True))
    for sizes in (
        (1, 1, 1),
        (13, 17, 19),
        (127, 129, 31),
        (128, 128, 32),
        (129, 257, 65),
        (1000, 3000, 520),
        (4096, 4096, 4096),
        (4104, 4104, 4104),
    )
]
ROWS = [{"M": m, "N": n} for m, n in ((1, 1), (7, 65), (9, 1000), (8192, 8192))]
HEADS = [
    dict(zip(("B", "M", "N", "K1", "K2"), sizes, strict=True))
    for sizes in (
        (1, 1, 16, 16, 1),
        (2, 65, 64, 64, 97),
        (1, 129, 128, 128, 131),
        (128, 4096, 64, 64, 4096),
        (128, 4096, 128, 128, 4096),
    )
]
DYNAMIC = {"DYNAMIC": 1}
FLOAT8 = {"DTYPE": "f8e4m3fn", "RESULT": "bf16"}
HALF = {"DTYPE": "bf16", "RESULT": "bf16"}
LAYOUTS = ("gemm", "gemm-nn", "gemm-tn", "gemm-tt")

CASES = [
    *(("gemm", sizes, {}) for sizes in MATRICES),
    ("gemm", MATRICES[4], DYNAMIC),
    *((name, MATRICES[6], HALF) for name in LAYOUTS),
    *((name, MATRICES[7], HALF) for name in LAYOUTS),
    *(("gemm-staged", sizes, {}) for sizes in MATRICES),
    *(("gemm-stream-k", sizes, {}) for sizes in MATRICES),
    *(
        (name, sizes, {})
        for name in ("copy", "softmax", "rms-norm", "layer-norm")
        for sizes in ROWS
    ),
    *(("attention", sizes, {}) for sizes in HEADS),
    ("attention-heads", {}, {}),
    ("conv2d", {}, {}),
    ("conv2d", {}, {"STRIDE": 2}),
    ("conv2d-input", {}, {"STRIDE": 2}),
    ("conv2d-weight", {}, {"PADDING": 1}),
    ("conv-depthwise", {}, {"PADDING": 1}),
]


HOPPER = [(name, sizes, FLOAT8) for name in LAYOUTS for sizes in MATRICES]
"""What an A100 has no instructions for."""

LISTED = {name for name, *_ in CASES}
OTHERS = sorted(set(Session(announce=lambda _: None).plugins.kernels) - LISTED)


@pytest.fixture(scope="module")
def spilled():
    session = Session(config=Config(cache=False), announce=lambda _: None)

    def measured(name, sizes, settings, target):
        factory = session.plugins.load_kernel(name)
        case = make_case(factory, name, sizes, settings, target)
        (found,) = emit(case.options, case.kernel, "metrics", session).files.values()
        rows = json.loads(found)["resources"]
        return rows["spill_store_bytes"], rows["spill_load_bytes"]

    return measured


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "sizes", "settings", "target"),
    [
        ("gemm", MATRICES[4], DYNAMIC, "sm_90a"),
        ("gemm", MATRICES[7], {}, "sm_90a"),
        ("attention", HEADS[2], {}, "sm_80"),
        ("gemm-staged", MATRICES[4], {}, "sm_80"),
    ],
)
def test_nothing_is_spilled(spilled, caplog, name, sizes, settings, target):
    with caplog.at_level(logging.WARNING, logger="wave_core"):
        assert spilled(name, sizes, settings, target) == (0, 0)
    assert not any("WV0608" in row.message for row in caplog.records)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("target", "name", "sizes", "settings"),
    [
        *(("sm_90a", *row) for row in HOPPER),
        *(
            (target, *row)
            for target in ("sm_80", "sm_90a")
            for row in (*CASES, *((name, {}, {}) for name in OTHERS))
        ),
    ],
)
def test_nothing_is_spilled_at_any_size(spilled, name, sizes, settings, target):
    assert spilled(name, sizes, settings, target) == (0, 0)


@pytest.mark.parametrize("name", ["gemm", "gemm-staged"])
def test_a_tile_of_thousands_of_registers_is_refused_before_it_is_expanded(name):
    """Expanded it has 8,000 ops, and every other choice of tiles was tried so."""
    session = Session(config=Config(cache=False), announce=lambda _: None)
    sizes, tile = dict.fromkeys("MNK", 1024), {"BLOCK_M": 512, "BLOCK_N": 512}
    case = make_case(
        session.plugins.load_kernel(name), name, sizes, tile | {"BLOCK_K": 256}, "sm_90"
    )
    begun = time.process_time()
    with pytest.raises(UserError, match=r"WV0605.*2048 registers .*across a loop"):
        emit(case.options, case.kernel, "ptx", session)
    assert time.process_time() - begun < 6
