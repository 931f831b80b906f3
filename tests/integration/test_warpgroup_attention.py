"""Attention with products of four warps: its powers are operands in registers."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from wave_core.compile import Config, Session, run_case
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case

TILE = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K2": 64, "WAVES_M": 2, "MMA_ROWS": 64}


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def case(session, name, shape, **settings):
    factory = session.plugins.load_kernel(name)
    given = {**TILE, **settings}
    if name != "attention-heads":
        given["STAGED"] = 1
    return make_case(factory, name, shape, given, "sm_90a")


def check(session, made, device, preset):
    options = replace(made.options, device=device, poison_outputs=True, preset=preset)
    report = run_case(made, options=options, session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()


@pytest.mark.filterwarnings("ignore")  # a loop that stays as it is says so
@pytest.mark.parametrize(
    ("name", "preset", "queries", "keys"),
    [
        ("attention", "naive", 5, 67),
        ("attention", "default", 1, 1),
        ("attention", "default", 129, 131),
        pytest.param("attention", "prefetch", 128, 128, marks=pytest.mark.fuzz),
        ("attention", "fetch-ahead", 127, 193),
        ("attention", "four-stage", 61, 257),
        pytest.param("attention", "modulo", 128, 191, marks=pytest.mark.fuzz),
        ("attention-causal", "default", 129, 129),
        pytest.param("attention-causal", "prefetch", 127, 63, marks=pytest.mark.fuzz),
        ("attention-causal", "modulo", 67, 193),
        ("attention-heads", "default", 65, 61),
        pytest.param("attention-heads", "prefetch", 128, 65, marks=pytest.mark.fuzz),
        ("attention-heads", "pingpong", 127, 257),
    ],
)
def test_edges(session, name, preset, queries, keys):
    shape = {"B": 1, "M": queries, "N": 64, "K1": 64, "K2": keys}
    if name == "attention-heads":
        shape["H"] = 2
    check(session, case(session, name, shape), "emulator", preset)


def test_the_turns_of_a_loop_differ_between_workgroups(session):
    """Where the pipelined loop has none, operands do not lie where others have them."""
    shape = {"B": 1, "M": 129, "N": 64, "K1": 64, "K2": 131}
    made = case(session, "attention-causal", shape)
    options = replace(made.options, use_global_to_shared=True, multi_buffer_count=4)
    check(session, replace(made, options=options), "emulator", "modulo")


BOXES = "copy-direct-to-lds{demanded=true, boxes=true}"


def beside(made, boxes):
    """Products of two iterations beside what is computed between those of one."""
    how = {"passes": (BOXES,)} if boxes else {"use_global_to_shared": True}
    options = replace(made.options, preset="prefetch-attention", **how)
    return replace(made, options=options)


@pytest.mark.covering(1)
@pytest.mark.filterwarnings("ignore")  # a loop that stays as it is says so
@pytest.mark.parametrize("name", ["attention", "attention-causal"])
@pytest.mark.parametrize(("width", "tile"), [(64, 64), (64, 128), (128, 64), (128, 96)])
@pytest.mark.parametrize("boxes", [False, True], ids=["threads", "boxes"])
@pytest.mark.parametrize("tiles", [1, 3, 4, 5, 7])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_products_of_two_iterations(session, name, width, tile, boxes, tiles, more):
    keys = tile * tiles + more
    shape = {"B": 1, "M": 129, "N": width, "K1": width, "K2": keys}
    made = case(session, name, shape, BLOCK_N=width, BLOCK_K2=tile)
    check(session, beside(made, boxes), "emulator", "prefetch-attention")


@pytest.mark.parametrize("boxes", [False, True], ids=["threads", "boxes"])
def test_one_iteration_computes_while_products_of_two_run(boxes):
    """The order that keeps the matrix unit busy, and that nothing gives up silently."""
    said: list[object] = []
    session = Session(config=Config(cache=False), announce=said.append)
    shape = {"B": 8, "M": 1024, "N": 128, "K1": 128, "K2": 4096}
    made = beside(case(session, "attention", shape, BLOCK_N=128), boxes)
    ptx = (
        emit(made.options, made.kernel, "ptx", session).files["attention.ptx"].decode()
    )
    assert emit(made.options, made.kernel, "cubin", session).files["code.cubin"]
    assert said == []
    found = re.findall("|".join(map(re.escape, ORDER)), loop_of(ptx))
    # Blocks may stand in another order than they run, as that of one thread's copies.
    first = found.index(ORDER[0])
    order = [row[0] for row in itertools.groupby([*found[first:], *found[:first]])]
    assert ("cp.async.bulk" in ptx, "cp.async.cg" in ptx) == (boxes, not boxes)
    assert order == [each for each in ORDER if each != "cp.async.cg" or not boxes]


ORDER = (
    *("m64n64k16", "mul.f32", "m64n128k16", "bar.sync", "cp.async.cg"),
    *("wait_group.sync.aligned 1", "ex2", "wait_group.sync.aligned 0"),
)
"""What an iteration does: scores, older sums rescaled beside them, older values."""


def loop_of(ptx):
    """The text between the label of the first loop that computes powers and its end."""
    lines, labels = ptx.splitlines(), {}
    for at, line in enumerate(lines):
        if line.startswith("$L"):
            labels[line.rstrip(":")] = at
        back = re.search(r"bra\S*\s+(\$L\w+);", line)
        if back and back[1] in labels:
            text = "\n".join(lines[labels[back[1]] : at])
            if "ex2" in text:
                return text
    return ""


@pytest.mark.parametrize("name", ["attention", "attention-causal"])
@pytest.mark.parametrize(("width", "keys"), [(64, 65), (128, 64), (128, 97)])
def test_lanes(session, name, width, keys):
    shape = {"B": 1, "M": 33, "N": width, "K1": width, "K2": keys}
    made = case(session, name, shape, BLOCK_N=width)
    check(session, made, "sim", "default")


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", ["default", "fetch-ahead"])
@pytest.mark.parametrize("width", [64, 128])
def test_code(width, preset):
    """No operand goes through a detour; ptxas has nothing to complain of."""
    said: list[object] = []
    session = Session(config=Config(cache=False), announce=said.append)
    shape = {"B": 8, "M": 1024, "N": width, "K1": width, "K2": 1024}
    made = case(session, "attention", shape, BLOCK_N=width)
    options = replace(made.options, preset=preset, use_global_to_shared=True)
    files = emit(options, made.kernel, "ptx", session).files
    ptx = files["attention.ptx"].decode()
    assert "wgmma.mma_async" in ptx
    assert "mma.sync" not in ptx
    assert not re.search(r"(ld|st)\.shared", ptx)
    assert set(re.findall(r"shfl\.sync\.(\w+)", ptx)) == {"bfly"}
    assert emit(options, made.kernel, "cubin", session).files["code.cubin"]
    assert said == []


@pytest.mark.filterwarnings("ignore")
def test_the_assembler_knows_that_a_wave_branches_together(session):
    """Behind a branch on anything else it does products one by one (C7519)."""
    shape = {"B": 2, "M": 256, "N": 128, "K1": 128, "K2": 256}
    made = case(session, "attention-heads", shape, BLOCK_N=128)
    options = replace(made.options, preset="pingpong", use_global_to_shared=True)
    assert emit(options, made.kernel, "cubin", session).files["code.cubin"]
