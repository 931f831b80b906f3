"""Calls that look like earlier ones repeat launches, and nothing that is stale."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
import torch.nn.functional as torch_functions
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import wave_torch
from wave_backend_nvgpu.compile.backend import compile_text
from wave_backend_nvgpu.emulation import EMULATOR
from wave_backend_nvgpu.executors import settings_for
from wave_backend_nvgpu.plugin import NEEDED
from wave_core.compile import Session
from wave_core.diagnostics import LaunchError
from wave_core.executors.machine_code import GpuExecutor
from wave_core.plugin import ExecutorSpec, hookimpl
from wave_kernels import functions
from wave_kernels.functions import launches, recording, repeated
from wave_kernels.functions.requests import requests_kept
from wave_runtime import DeviceError, LaunchRefused, LoadedKernel, open_device

HALF = torch.float16
OWN = "gpu-of-ptx"


class Plugin:
    """A GPU that reads the memory of the CPU: the emulator of PTX behind a driver."""

    REQUIRES_API = (1, 0)

    @hookimpl
    def wave_register_executors(self):
        own = f"{__name__}:executor"
        spec = {"requires": NEEDED, "backend": "nvgpu", "strided": False}
        yield ExecutorSpec(OWN, own, **spec)


def executor():
    def compiled(request, _):
        settings, table = settings_for(request), request.settings.lowerings
        return compile_text(request.graph, request.target, settings, table)

    return GpuExecutor(compiled, lambda _: open_device(EMULATOR))


@pytest.fixture(scope="module")
def compiled():
    """What all tests here compile with, so that each kernel is compiled once."""
    return Session({"gpu": Plugin()}, announce=lambda _: None)


@pytest.fixture
def session(compiled, monkeypatch):
    compiled.calls.clear()
    monkeypatch.setattr(launches, "ON_CPU", (OWN, "sm_90a"))
    monkeypatch.setattr(launches, "default_session", lambda: compiled)
    return compiled


@pytest.fixture
def runs(session, monkeypatch):
    """The requests of launches that functions worked out, and did not repeat."""
    found, run = [], launches._run

    def kept(call):
        found.append(call.request.make.__name__)
        run(call)

    monkeypatch.setattr(launches, "_run", kept)
    return found


def drawn(*shape, dtype=HALF):
    return torch.rand(shape).add(0.25).to(dtype)


def settled(call, *given):
    """A call that is repeated from here on."""
    for _ in range(2):
        call(*given)


def norm(x, weight, eps=1e-5):
    wide = x.double()
    return wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt() * weight.double()


def close(found, wanted, share=4e-3):
    most = share * float(wanted.abs().max())
    torch.testing.assert_close(found.double(), wanted, atol=most, rtol=0)


def attended(query, key, value):
    wide = [each.double() for each in (query, key, value)]
    return torch_functions.scaled_dot_product_attention(*wide, enable_gqa=True)


WORKS = {
    "rms_norm": (
        functions.rms_norm,
        lambda: (drawn(3, 40), drawn(40)),
        norm,
    ),
    "matmul": (
        lambda a, b, c: functions.matmul(a, b.mT, bias=c, activation="relu"),
        lambda: (drawn(2, 3, 32), drawn(16, 32), drawn(16)),
        lambda a, b, c: (a.double() @ b.double().mT + c.double()).relu(),
    ),
    "attention": (
        functions.attention,
        lambda: (drawn(1, 4, 2, 16), drawn(1, 2, 70, 16), drawn(1, 2, 70, 16)),
        attended,
    ),
    "gated_activation": (
        functions.gated_activation,
        lambda: (drawn(3, 24),),
        lambda x: torch_functions.silu(x[:, :12].double()) * x[:, 12:].double(),
    ),
    "elementwise, turned": (
        lambda x, y: functions.elementwise("x, y -> x * y", (x.mT, y.mT)),
        lambda: (drawn(6, 10), drawn(6, 10)),
        lambda x, y: (x.double() * y.double()).mT,
    ),
    "column_sums, in parts": (
        functions.column_sums,
        lambda: (drawn(128, 24),),
        lambda x: x.double().sum(0),
    ),
}
"""Name: a call, arguments, and the formula in f64."""


@pytest.mark.parametrize("name", WORKS)
def test_a_repeated_call_is_right(runs, name):
    call, arguments, formula = WORKS[name]
    kept = []
    for _ in range(4):
        given = arguments()
        kept.append((call(*given), formula(*given)))
    once = len(runs) // 2
    assert once > 0
    assert runs == runs[:once] * 2, "the first two calls alone"
    for found, wanted in kept:
        close(found, wanted)


def test_results_lie_as_those_of_the_function(session):
    x, y = drawn(6, 10), drawn(6, 10)
    call = WORKS["elementwise, turned"][0]
    found = [call(x, y) for _ in range(3)]
    assert len({each.data_ptr() for each in found}) == 3
    assert {each.stride() for each in found} == {(1, 10)}


def test_several_results_have_their_names(runs):
    rows = [drawn(4, 8).float() + torch.eye(4, 8) * 9 for _ in range(3)]
    found = [functions.route_tokens(each, 2) for each in rows]
    assert len(runs) == 2
    for routed, logits in zip(found, rows, strict=True):
        assert type(routed) is type(found[0])
        assert routed.experts.tolist() == logits.topk(2).indices.tolist()


def test_out_is_written_and_returned(runs):
    for _ in range(3):
        x, w, out = drawn(3, 40), drawn(40), torch.full((3, 40), torch.nan, dtype=HALF)
        assert functions.rms_norm(x, w, out=out) is out
        close(out, norm(x, w))
    assert len(runs) == 2


def shifted(tensor):
    """The same elements at an address that is no multiple of what GPUs read at once."""
    room = torch.empty(tensor.numel() + 1, dtype=tensor.dtype)
    found = room[1:].view(tensor.shape)
    return found.copy_(tensor)


@pytest.mark.parametrize(
    "other",
    [
        lambda x, w: (drawn(40, 3).mT, w),
        lambda x, w: (drawn(6, 40)[::2], w),
        lambda x, w: (drawn(1, 40).expand(3, 40), w),
        lambda x, w: (shifted(x), w),
        lambda x, w: (x, shifted(w)),
        lambda x, w: (drawn(5, 40), w),
        lambda x, w: (x.float(), w.float()),
        lambda x, w: (x.bfloat16(), w.bfloat16()),
        lambda x, w: (drawn(3, 40)[:0], w),
        lambda x, w: (torch.nn.Parameter(x, requires_grad=False), w),
    ],
)
def test_what_lies_otherwise_is_looked_at(session, other):
    x, w = drawn(3, 40), drawn(40)
    settled(functions.rms_norm, x, w)
    for _ in range(3):
        given = other(x, w)
        found = functions.rms_norm(*given)
        assert found.dtype == given[0].dtype
        if found.numel():
            close(found, norm(*given), 2e-2)
    close(functions.rms_norm(x, w), norm(x, w))


def test_other_words_are_looked_at(session):
    x, w = drawn(3, 40), drawn(40)
    for eps in (1e-5, 4.0, 0, 0.0, True):
        for _ in range(3):
            close(functions.rms_norm(x, w, eps=eps), norm(x, w, float(eps)))
    a, b = drawn(3, 32) - 0.75, drawn(32, 16)
    for activation in ("", "relu", "tanh"):
        for _ in range(3):
            wanted = a.double() @ b.double()
            wanted = getattr(torch, activation)(wanted) if activation else wanted
            close(functions.matmul(a, b, activation=activation), wanted)


def test_zeros_of_both_signs_are_two_numbers(session):
    seen = [repeated._Seen() for _ in range(2)]
    assert seen[0].fit((0.0,))
    assert seen[1].fit((-0.0,))
    assert seen[0].looks != seen[1].looks


BAD = {
    "WV0704": lambda x, w: functions.rms_norm(x, w.tolist()),
    "WV0705": lambda x, w: functions.rms_norm(x, w.float()),
    "WV0707": lambda x, w: functions.rms_norm(x, w[:39]),
    "WV0708": lambda x, w: functions.rms_norm(x, w.to("meta")),
    "WV0709": lambda x, w: functions.rms_norm(x, w, out=drawn(40, 3).mT),
    "WV0712": lambda x, w: functions.rms_norm(x, w, out=x),
    "WV0714": lambda x, w: functions.rms_norm(x.requires_grad_(), w),
}


@pytest.mark.parametrize("code", BAD)
def test_a_bad_call_after_good_ones_has_its_error(runs, code):
    x, w = drawn(3, 40), drawn(40)
    settled(functions.rms_norm, x, w)
    for _ in range(2):
        functions.rms_norm(x, w, out=drawn(3, 40))
    before = x.detach().clone()
    for _ in range(3):
        with pytest.raises(LaunchError) as raised:
            BAD[code](x, w)
        assert [row.code for row in raised.value.diagnostics] == [code]
        assert Path(__file__).name in str(raised.value)
    assert torch.equal(x.detach(), before)
    x = x.detach()
    close(functions.rms_norm(x, w), norm(x, w))


def test_nothing_is_launched_where_a_later_kernel_is_refused(session, monkeypatch):
    call, arguments, _ = WORKS["column_sums, in parts"]
    for _ in range(3):
        given = arguments()
        call(*given)
    replay = next(x for x in session.calls.values() if isinstance(x, recording.Replay))
    (first, _), (last, _) = replay.launches
    queued = []

    def refuse(*_):
        raise LaunchRefused("not this one")

    monkeypatch.setattr(first.kernel, "queue", lambda *row: queued.append(row))
    monkeypatch.setattr(last.kernel, "checked", refuse)
    with pytest.raises(LaunchRefused):
        replay.prepare([*given], [each.data_ptr() for each in given])
    assert not queued


def test_a_call_that_breaks_off_is_not_done_again(runs, monkeypatch):
    call, arguments, _ = WORKS["column_sums, in parts"]
    for _ in range(3):
        call(*arguments())
    before, queued, queue = [*runs], [], LoadedKernel.queue

    def lost(*row):
        if queued:
            raise DeviceError("the context is lost")
        queued.append(row)
        queue(*row)

    monkeypatch.setattr(LoadedKernel, "queue", lost)
    with pytest.raises(LaunchError, match="the context is lost") as raised:
        call(*arguments())
    assert raised.value.diagnostics[0].code == "WV0708"
    assert Path(__file__).name in str(raised.value)
    assert runs == before


def test_calls_with_numbers_that_equal_none_are_not_remembered(session):
    x, w = drawn(3, 40), drawn(40)
    settled(functions.rms_norm, x, w)
    before = dict(session.calls)
    for _ in range(3):
        found = functions.rms_norm(x, w, eps=float("nan"))
        assert torch.isnan(found).all()
    assert session.calls == before


def test_memory_that_was_freed_is_not_read(session):
    x, w = drawn(3, 40), drawn(40)
    settled(functions.rms_norm, x, w)
    x.untyped_storage().resize_(0)
    for call in (functions.rms_norm, functions.rms_norm.__wrapped__):
        with pytest.raises(LaunchError) as raised:
            call(x, w)
        assert raised.value.diagnostics[0].code == "WV0704"


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # by torch
def test_a_tangent_is_not_lost_in_silence(session):
    x, w = drawn(3, 40), drawn(40)
    settled(functions.rms_norm, x, w)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        for _ in range(3):
            for call in (functions.rms_norm, torch.ops.wave.rms_norm):
                with pytest.raises(LaunchError) as raised:
                    call(dual, w)
                assert raised.value.diagnostics[0].code == "WV0714"
            close(functions.rms_norm(x, w), norm(x, w))
    close(functions.rms_norm(x, w), norm(x, w))


def test_a_list_within_itself_is_no_tensor(session):
    rows = []
    rows.append(rows)
    with pytest.raises(LaunchError) as raised:
        functions.elementwise("x -> x", rows)
    assert raised.value.diagnostics[0].code == "WV0704"


def test_memory_that_results_share_is_seen_in_each_call(session):
    rows, w = drawn(6, 40), drawn(40)
    out = torch.empty(3, 40, dtype=HALF)
    for _ in range(3):
        functions.rms_norm(rows[:3], w, out=out)
    functions.rms_norm(rows[:3], w, out=rows[3:])
    with pytest.raises(LaunchError) as raised:
        functions.rms_norm(rows[:3], w, out=rows[2:5])
    assert raised.value.diagnostics[0].code == "WV0712"


def test_one_tensor_twice_does_not_stand_for_two(session):
    rows = drawn(1, 2, 70, 16)
    query = drawn(1, 4, 2, 16)
    for _ in range(3):
        close(functions.attention(query, rows, rows), attended(query, rows, rows))
    for _ in range(3):
        other = drawn(1, 2, 70, 16) - 0.75
        close(functions.attention(query, rows, other), attended(query, rows, other))
    close(functions.attention(query, other, other), attended(query, other, other))
    both = drawn(2, 1, 2, 70, 16)
    close(functions.attention(query, *both), attended(query, *both))


def test_elements_that_are_checked_are_checked_each_time(session):
    table = drawn(5, 24)
    for _ in range(3):
        found = functions.gather_rows(table, torch.tensor([4, 0]))
        assert torch.equal(found, table[[4, 0]])
    with pytest.raises(LaunchError) as raised:
        functions.gather_rows(table, torch.tensor([5, 0]))
    assert raised.value.diagnostics[0].code == "WV0707"


def test_elements_that_are_not_are_read_by_the_kernel(runs):
    table = drawn(5, 24)
    for row in (4, 0, 3, 2):
        picked = torch.tensor([row, 1], dtype=torch.int32)
        found = functions.gather_rows(table, picked, checked=False)
        assert torch.equal(found, table[[row, 1]])
    assert len(runs) == 2


def test_layers_of_several_functions(runs):
    for _ in range(3):
        x, router = drawn(4, 16), torch.eye(3, 16).to(HALF) * 4
        gate_up, down = drawn(3, 16, 16), drawn(3, 16, 8)
        found = functions.moe(x, router, gate_up, down, 3)
        shares = (x.double() @ router.double().mT).softmax(-1)
        gate, up = (x.double() @ gate_up.double().mT).chunk(2, -1)
        each = (torch_functions.silu(gate) * up) @ down.double().mT
        close(found, (each * shares.mT[..., None]).sum(0), 2e-2)


def test_forgetting_forgets_calls(session):
    x, w = drawn(3, 40), drawn(40)
    own = Session({"gpu": Plugin()}, announce=lambda _: None)
    own.calls["call"] = 1
    own.forget()
    assert not own.calls
    settled(functions.rms_norm, x, w)
    assert any(isinstance(row, recording.Replay) for row in session.calls.values())


def test_another_device_and_another_session_are_asked(runs, monkeypatch):
    x, w = drawn(3, 40), drawn(40)
    settled(functions.rms_norm, x, w)
    functions.rms_norm(x, w)
    assert len(runs) == 2
    monkeypatch.setattr(launches, "ON_CPU", ("sim-logical", "generic"))
    close(functions.rms_norm(x, w), norm(x, w))
    assert len(runs) == 3
    own = Session({"gpu": Plugin()}, announce=lambda _: None)
    monkeypatch.setattr(launches, "default_session", lambda: own)
    close(functions.rms_norm(x, w), norm(x, w))
    assert len(runs) == 4


def test_kernels_outlive_what_a_session_drops(session):
    x, w = drawn(3, 40), drawn(40)
    settled(functions.rms_norm, x, w)
    session._kernels.clear()
    gc.collect()
    for _ in range(2):
        x, w = drawn(3, 40), drawn(40)
        close(functions.rms_norm(x, w), norm(x, w))


def test_as_many_calls_are_kept_as_are_allowed(session, monkeypatch):
    monkeypatch.setattr(repeated, "KEPT", 4)
    for rows in range(1, 9):
        x, w = drawn(rows, 40), drawn(40)
        for _ in range(3):
            close(functions.rms_norm(x, w), norm(x, w))
        assert len(session.calls) <= 4


def test_who_collects_requests_gets_them_all(session):
    x, w = drawn(3, 40), drawn(40)
    settled(functions.rms_norm, x, w)
    with requests_kept() as found:
        functions.rms_norm(x, w)
        functions.rms_norm(x, w)
    assert [each.make.__name__ for each in found] == ["rms_norm_kernel"] * 2


class Watching(TorchDispatchMode):
    """Counts operations."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_who_watches_torch_sees_what_the_function_does(session):
    x, w = drawn(3, 40), drawn(40)
    with Watching() as first:
        functions.rms_norm(x, w)
    settled(functions.rms_norm, x, w)
    with Watching() as second:
        functions.rms_norm(x, w)
    assert second.seen == first.seen


def test_threads_have_results_of_their_own(session):
    weight = drawn(40)
    settled(functions.rms_norm, drawn(3, 40), weight)

    def work(seed):
        rows = torch.rand(3, 40, generator=torch.Generator().manual_seed(seed)).half()
        for _ in range(4):
            close(functions.rms_norm(rows, weight), norm(rows, weight))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))


def test_operators_of_torch_repeat_and_train(runs):
    assert wave_torch
    for _ in range(3):
        x, w = drawn(3, 40), drawn(40)
        close(torch.ops.wave.rms_norm(x, w), norm(x, w))
    assert len(runs) == 2
    for _ in range(3):
        x, w = drawn(3, 40).requires_grad_(), drawn(40)
        torch.ops.wave.rms_norm(x, w).sum().backward()
        wide = x.detach().double().requires_grad_()
        norm(wide, w).sum().backward()
        close(x.grad, wide.grad, 2e-2)
        x.grad = None


def test_every_function_repeats_calls():
    for name in functions.__all__:
        assert hasattr(getattr(functions, name), "__wrapped__"), name
