"""Kernels by the backend `asm`: the same bits as the simulator, and no hazard."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
import torch
from test_emulator import SMALL
from typer.testing import CliRunner

import wave_core.lang as tkl
import wave_core.lang as tkw
import workspace
from wave_backend_asm import backend
from wave_backend_asm.allocate.budget import Budget
from wave_backend_asm.assemble.apart import Assembler
from wave_backend_asm.assemble.document import document
from wave_backend_asm.assemble.serve import CODE
from wave_backend_asm.bindings import assemble
from wave_backend_asm.codegen import module
from wave_backend_asm.machine.effects import effects_of
from wave_backend_asm.machine.instruction import Instruction
from wave_core.cli.app import app
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.check_case import run_case
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_runtime.artifact import code_file
from wave_view import collect

CHIPS = ("gfx90a", "gfx942", "gfx950")
M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


@pytest.fixture(scope="module")
def session():
    config, points = Config(cache=False), workspace.plugins()
    return Session(config=config, entry_points=points, announce=lambda _: None)


@pytest.fixture(scope="module")
def assembler():
    found = Assembler()
    yield found
    found.close()


@pytest.fixture(autouse=True)
def same_as_llvm(assembler, monkeypatch):
    """What LLVM refuses in a kernel's text, or encodes otherwise, fails here."""
    encoded = backend.encoded

    def compared(kernel):
        request = json.dumps([document(kernel), kernel.chip]).encode()
        found = encoded(kernel)
        assert found is not None
        assert CODE + found == assembler.ask(request, 60, 8192)
        return found

    monkeypatch.setattr(backend, "encoded", compared)


def checked(session, name, chip, settings=None, sizes=None, **options):
    """A kernel of the library beside its reference, with no report."""
    factory = session.plugins.load_kernel(name)
    case = make_case(factory, name, sizes or SMALL[name], settings or {}, chip)
    options = {"device": "emulator", "poison_outputs": True, **options}
    chosen = replace(case.options, backend="asm", **options)
    report = run_case(replace(case, options=chosen), session=session)
    assert report.passed, report
    assert report.record.reports == ()
    return report


def emitted(session, name, chip, sizes, form):
    """The files of a kernel of the library."""
    case = make_case(session.plugins.load_kernel(name), name, sizes, {}, chip)
    options = replace(case.options, backend="asm")
    return dict(emit(options, case.kernel, form, session).files)


def assembly(session, name, chip, sizes):
    """The text of a kernel of the library."""
    (text,) = emitted(session, name, chip, sizes, "asm").values()
    return text.decode()


def loops_of_gemm(session, size):
    text = assembly(session, "gemm", "gfx942", {"K": size})
    return text.count("s_cbranch_scc1")


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", ["softmax", "gemm", "layer-norm", "attention"])
def test_code_is_what_the_linker_makes(session, name, chip):
    text = assembly(session, name, chip, SMALL[name])
    files = emitted(session, name, chip, SMALL[name], "hsaco")
    assert files[code_file("hsaco")] == assemble(text, chip)


@pytest.mark.parametrize(("size", "loops"), [(384, 0), (512, 0), (4096, 1)])
def test_a_loop_of_few_turns_is_none(session, size, loops):
    """Of one or two, in front of and behind which others are done."""
    assert loops_of_gemm(session, size) == loops


def test_a_loop_stays_one_where_its_turns_have_no_room(session, monkeypatch):
    tight, assembled = iter([Budget(8)]), module.assembled_program

    def first_without_room(lines, chip, budget, *rest, **how):
        return assembled(lines, chip, next(tight, budget), *rest, **how)

    monkeypatch.setattr(module, "assembled_program", first_without_room)
    assert loops_of_gemm(session, 512) == 1


def test_pages_of_a_buffer_are_added_by_the_wave(session):
    """An offset that no field holds is in one register of the wave for all lanes."""
    text = assembly(session, "gemm", "gfx942", {})
    assert re.search(r"buffer_load_dwordx4 \S+ v\d+, \S+ s\d+ offen", text)
    assert not re.search(r"v_add_u32 v\d+, 0x[1-9]000,", text)


SCHEDULES = ("prefetch", "four-stage", "modulo", "fetch-ahead")


def test_offsets_in_lds_are_in_the_instructions(session):
    """Their registers may hold less than 0, where what is swizzled begins."""
    text = assembly(session, "attention", "gfx950", {})
    offsets = re.findall(r"ds_read_b64_tr_b16 .*\boffset:(\d+)", text)
    assert max(map(int, offsets)) >= 1 << 14
    assert not re.search(r"v_add_u32 v\d+, 0x[0-9a-f]{4},", text)


TILED = ("attention", "gemm-stream-k", "conv2d-weight", "topk")


@pytest.mark.parametrize("name", TILED)
def test_every_access_of_lds_says_which_buffer_it_touches(session, name, monkeypatch):
    """Those of one buffer are kept in their order, those of others need not be."""
    assembled, found = module.assembled_program, []

    def looked_at(lines, *rest, **how):
        found.extend(line for line in lines if isinstance(line, Instruction))
        return assembled(lines, *rest, **how)

    monkeypatch.setattr(module, "assembled_program", looked_at)
    assembly(session, name, "gfx950", {})
    touching = [
        line for line in found
        if any(each.startswith("lds") for row in effects_of(line) for each in row)
    ]  # fmt: skip
    assert touching
    assert all(line.memory for line in touching)


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_are_kept(session, schedule, chip):
    sizes = {"M": 33, "N": 17, "K": 150}
    options = {"preset": "default", "schedule": schedule}
    checked(session, "gemm", chip, {}, sizes, **options)


@pytest.mark.covering(1)
@pytest.mark.parametrize("number", ["f4e2m1fn", "f6e2m3fn", "f8e5m2"])
@pytest.mark.parametrize("order", ["none", "all"])
def test_blocks_of_products_have_scales(session, number, order):
    sizes, given = {"M": 17, "N": 9, "K": 96}, {"FORMAT": number, "SHUFFLED": order}
    checked(session, "gemm-mxfp", "gfx950", given, sizes)


def joined(dtype, join, columns=64):
    """A kernel of two memories, by tiles of 4 rows."""
    kind = tkl.Memory[M, N, GLOBAL, dtype]

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 4, 0),
            tkw.WorkgroupConstraint(N, columns, 1),
            tkw.HardwareConstraint(),
        ]
    )
    def joined(a: kind, b: kind, c: kind):
        tkw.write(join(tkw.read(a), tkw.read(b)), c)

    return joined


def same_bits(session, kernel, arrays, chip):
    """Outputs of the machine code and of the simulator, whose bits are compared.

    What is no number has any sign and any payload, as by other paths.
    """
    m, n = arrays[0].shape
    found = []
    for device in ("sim", "emulator"):
        options = tkw.WaveCompileOptions(
            subs={M: m, N: n}, target=chip, device=device, backend="asm"
        )
        out = torch.full_like(arrays[0], 7)
        compiled = wave_compile(options, kernel, session=session)
        compiled(*arrays, out)
        assert compiled.last_run.reports == ()
        found.append(out)
    numbers = ~(found[0].float().isnan() & found[1].float().isnan())
    bits = [out.view(torch.uint8).reshape(*out.shape, -1) for out in found]
    assert torch.equal(*[each[numbers] for each in bits])


DTYPES = {
    "f64": (tkl.f64, torch.float64),
    "f32": (tkl.f32, torch.float32),
    "f16": (tkl.f16, torch.float16),
    "bf16": (tkl.bf16, torch.float32),
    "i32": (tkl.i32, torch.int32),
    "i64": (tkl.i64, torch.int64),
    "i8": (tkl.i8, torch.int8),
}
SHAPES = ((1, 1), (3, 63), (4, 64), (5, 65), (7, 13))

JOINS = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "product": lambda a, b: a * b,
    "larger": tkw.maximum,
    "chosen": lambda a, b: tkw.select(a > b, a, b),
}


UPDATES = {
    "sum": tkw.atomic_add, "least": tkw.atomic_min, "largest": tkw.atomic_max,
    "either": tkw.atomic_or, "other": tkw.atomic_xchg,
}  # fmt: skip


OF_BITS = {"either"}
"""Updates of integers alone."""
UPDATED = [
    *((update, dtype, "device") for update in UPDATES for dtype in ("i32", "i64")),
    *((update, "f64", "device") for update in UPDATES if update not in OF_BITS),
    *((update, "f32", "device") for update in ("sum", "other")),
    *((update, "i64", "system") for update in ("sum", "other")),
    ("other", "f32", "system"),
]


def updated(update, dtype, scope):
    """A kernel that gives what its memory was before it was updated."""
    memory = tkl.Memory[M, N, GLOBAL, DTYPES[dtype][0]]

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 4, 0),
            tkw.WorkgroupConstraint(N, 64, 1),
            tkw.HardwareConstraint(),
        ]
    )
    def updated(a: memory, b: memory, c: memory):
        before = UPDATES[update](tkw.read(a), c, scope=scope)
        tkw.write(before, b)

    return updated


@pytest.mark.parametrize("chip", CHIPS[:2])
@pytest.mark.parametrize("row", UPDATED, ids="-".join)
def test_updates_have_the_bits_of_the_simulator(session, row, chip):
    dtype = DTYPES[row[1]][1]
    arrays = values(dtype, (5, 67)), torch.zeros(5, 67, dtype=dtype)
    same_bits(session, updated(*row), arrays, chip)


CACHES = {
    ("gfx90a", "device"): ("", "buffer_wbinvl1_vol"),
    ("gfx90a", "system"): ("buffer_wbl2", "buffer_invl2 buffer_wbinvl1_vol"),
    ("gfx942", "device"): ("buffer_wbl2 sc1", "buffer_inv sc1"),
    ("gfx942", "system"): ("buffer_wbl2 sc0 sc1", "buffer_inv sc0 sc1"),
    ("gfx942", "workgroup"): ("", ""),
}
"""What writes back, and what drops. Source: LLVM, "Memory Model gfx90a", "gfx942"."""


@pytest.mark.parametrize("order", ["acquire", "release", "acq_rel"])
@pytest.mark.parametrize("row", CACHES, ids="-".join)
def test_fences_do_to_caches_what_the_chip_asks_for(session, row, order):
    chip, scope = row
    memory = tkl.Memory[M, N, GLOBAL, tkl.f32]

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 4, 0),
            tkw.WorkgroupConstraint(N, 64, 1),
            tkw.HardwareConstraint(),
        ]
    )
    def fenced(a: memory, b: memory):
        found = tkw.read(a)
        tkw.fence(order, scope)
        tkw.write(found, b)

    same_bits(session, fenced, (torch.randn(5, 67),), chip)
    options = tkw.WaveCompileOptions(subs={M: 5, N: 67}, target=chip, backend="asm")
    (text,) = emit(options, fenced, "asm", session).files.values()
    lines = re.findall(r"^(buffer_(?:wb|inv).*)$", text.decode(), re.MULTILINE)
    written, dropped = CACHES[row]
    wanted = [dropped] if order == "acquire" else [written]
    wanted += [dropped] if order == "acq_rel" else []
    assert " ".join(map(str.strip, lines)) == " ".join(filter(None, wanted))


@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_updates_that_compare_have_the_bits_of_the_simulator(session, dtype):
    kind, torch_kind = DTYPES[dtype]
    memory = tkl.Memory[M, N, GLOBAL, kind]

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 4, 0),
            tkw.WorkgroupConstraint(N, 64, 1),
            tkw.HardwareConstraint(),
        ]
    )
    def compared(a: memory, b: memory, c: memory):
        found = tkw.read(a)
        before = tkw.atomic_cas(found * found, c, expected=found)
        tkw.write(before, b)

    held = torch.full((5, 67), 7, dtype=torch_kind)
    given = torch.randint(6, 9, (5, 67), dtype=torch_kind) * held // 7
    same_bits(session, compared, (given, torch.zeros_like(held)), "gfx942")


@pytest.mark.parametrize("row", [("largest", "f32"), ("either", "i32")], ids="-".join)
def test_an_update_in_several_steps_is_refused(session, row):
    scope = "device" if row[1] == "f32" else "system"
    arrays = [torch.zeros(5, 67, dtype=DTYPES[row[1]][1]) for _ in "ab"]
    with pytest.raises(UserError, match="WV0610"):
        same_bits(session, updated(*row, scope), arrays, "gfx942")


@pytest.mark.parametrize("schedule", ["none", "fetch-ahead"])
def test_copies_to_lds_are_waited_for_in_groups(session, schedule):
    options = {"preset": "default", "schedule": schedule, "use_global_to_shared": True}
    sizes = {"M": 64, "N": 64, "K": 256}
    report = checked(session, "gemm", "gfx950", {"STAGED": 1}, sizes, **options)
    assert " lds" in report.kernel.asm


def values(dtype, shape):
    drawn = torch.randn(shape) * 40
    return drawn.to(dtype)


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "i64", "i32", "i8"])
def test_elements_have_the_bits_of_the_simulator(session, dtype, join, shape, chip):
    kind, torch_kind = DTYPES[dtype]
    arrays = values(torch_kind, shape), values(torch_kind, shape)
    same_bits(session, joined(kind, JOINS[join]), arrays, chip)


TURNS = {
    "wide": (2**53 + 1, 2**62 - 1, -(2**24) - 1, 2**40 + 2**16, -1, 0, 2**31, -(2**63)),
    "near": (2**24 + 1, -(2**32) + 1, 2**63 - 1, 2**63 - 2**38, 5, -7, 2**32, 2**33),
}
"""Integers of which some are halfway between two floats, or nearly."""


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("row", TURNS)
def test_integers_of_64_bits_become_floats_and_are_rounded_once(session, row, dtype):
    kind = DTYPES[dtype][0]

    def joined_by(a, b):
        whole = tkw.cast(tkw.cast(a, kind) * 0.25, tkl.i64)
        return whole ^ tkw.abs(a - b)

    a = torch.randint(-(2**63), 2**63 - 1, (3, 70))
    a[0, :8] = torch.tensor(TURNS[row])
    b = torch.randint(-(2**63), 2**63 - 1, (3, 70)) >> torch.randint(0, 60, (3, 70))
    same_bits(session, joined(tkl.i64, joined_by), (a, b), "gfx942")


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_numbers_without_sign_become_floats(session, dtype):
    kind = DTYPES[dtype][0]

    def joined_by(a, b):
        return tkw.cast(tkw.cast(tkw.cast(tkw.cast(a, tkl.u64), kind) * 0.5, tkl.u64),
                        tkl.i64) + b  # fmt: skip

    a = torch.randint(-(2**63), 2**63 - 1, (3, 70))
    a[0, :4] = torch.tensor([-1, 2**24 + 1, 2**63 - 1, -(2**63)])
    same_bits(session, joined(tkl.i64, joined_by), (a, a >> 40), "gfx942")


ORDERS = {
    "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, "==": lambda x, y: x == y,
    ">": lambda x, y: x > y, ">=": lambda x, y: x >= y, "!=": lambda x, y: x != y,
}  # fmt: skip
ENDS = (-(2**31), 1 - 2**31, -2, -1, 0, 1, 99, 100, 101, 2**31 - 2, 2**31 - 1)


@pytest.mark.parametrize("dtype", [tkl.i64, tkl.u64], ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_words_are_in_the_order_of_their_numbers(session, order, dtype):
    """Of 64 bits, with a sign and without."""

    def joined_by(a, b):
        holds = ORDERS[order](*(tkw.cast(tkw.cast(x, tkl.i64), dtype) for x in (a, b)))
        return tkw.cast(holds, tkl.i32)

    ends = torch.tensor(ENDS, dtype=torch.int32)
    a, b = torch.meshgrid(ends, ends, indexing="ij")
    kernel = joined(tkl.i32, joined_by)
    same_bits(session, kernel, (a.contiguous(), b.contiguous()), "gfx942")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("most", [-1, 0, 99, 100, 2**31 - 1])
def test_words_are_in_a_range_as_in_the_simulator(session, most, chip):
    """From 0 up to a number, in both orders, and in the range that is left."""

    def joined_by(a, b):
        zero, limit = (tkl.Register[M, N, tkl.i32](number) for number in (0, most))
        one = tkw.cast((a >= zero) & (a <= limit), tkl.i32)
        two = tkw.cast((limit >= b) & (zero <= b), tkl.i32)
        return one * 4 + two * 2 + tkw.cast((a >= zero) & (b <= limit), tkl.i32)

    ends = torch.tensor(ENDS, dtype=torch.int32)
    a, b = torch.meshgrid(ends, ends, indexing="ij")
    same_bits(
        session, joined(tkl.i32, joined_by), (a.contiguous(), b.contiguous()), chip
    )


BYTES = {
    "f8e5m2": torch.float8_e5m2, "f8e4m3fn": torch.float8_e4m3fn,
    "f8e5m2fnuz": torch.float8_e5m2fnuz, "f8e4m3fnuz": torch.float8_e4m3fnuz,
}  # fmt: skip


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", BYTES)
def test_floats_of_a_byte_have_the_bits_of_the_simulator(session, name, chip):
    """Every code, beside numbers of which some products are too large."""
    kernel = joined(getattr(tkl, name), lambda a, b: tkw.maximum(a * b, a) + b)
    codes = torch.randperm(256).to(torch.uint8).reshape(4, 64)
    arrays = codes.view(BYTES[name]), (torch.randn(4, 64) * 20).to(BYTES[name])
    same_bits(session, kernel, arrays, chip)


@pytest.mark.parametrize("number", [0.0, 1.5, -2.0, 1000.0])
@pytest.mark.parametrize("name", BYTES)
def test_constants_of_a_byte_have_the_bits_of_the_simulator(session, name, number):
    kind = getattr(tkl, name)
    kernel = joined(kind, lambda a, b: (a + tkl.Register[M, N, kind](number)) * b)
    codes = torch.randperm(256).to(torch.uint8).reshape(4, 64)
    arrays = codes.view(BYTES[name]), torch.ones(4, 64).to(BYTES[name])
    same_bits(session, kernel, arrays, "gfx942")


@pytest.mark.parametrize("divisor", [-7, -1, 1, 3, 7, 64, 641, 2**31 - 1])
def test_integers_divide_as_the_simulator_does(session, divisor):
    kernel = joined(tkl.i32, lambda a, b: (a // b) ^ (b * 5 + a % b))
    a = torch.randint(-(2**31), 2**31 - 1, (3, 70), dtype=torch.int32)
    b = torch.full_like(a, divisor)
    b[0] = torch.randint(1, 100, (70,), dtype=torch.int32)
    same_bits(session, kernel, (a, b), "gfx942")


SPANS = {"words": 31, "halves": 15, "some wider": 40, "wide": 62}
"""Bits of dividends; divisors have some of them."""


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("divisor", [None, 10, 2**33 + 1])
def test_integers_of_64_bits_divide_as_the_simulator_does(session, span, divisor):
    """By words where those of a wave are, and by bits where one is not."""

    def join(a, b):
        by = b if divisor is None else tkl.Register[M, N, tkl.i64](divisor)
        return (a // by) ^ (a % by)

    most = 2 ** SPANS[span]
    a, b = torch.randint(-most, most, (3, 70)), torch.randint(1, most, (3, 70))
    b >>= torch.randint(0, SPANS[span], (3, 70))
    b = b.clamp(min=1) * torch.tensor([1, -1]).repeat(35)
    same_bits(session, joined(tkl.i64, join), (a, b), "gfx942")


CURVES = {
    "exp2": (tkw.exp2, torch.exp2),
    "exp": (tkw.exp, torch.exp),
    "sqrt": (lambda x: tkw.sqrt(tkw.abs(x)), lambda x: x.abs().sqrt()),
    "log2": (lambda x: tkw.log2(tkw.abs(x)), lambda x: x.abs().log2()),
    "log": (lambda x: tkw.log(tkw.abs(x)), lambda x: x.abs().log()),
    "log10": (lambda x: tkw.log10(tkw.abs(x)), lambda x: x.abs().log10()),
    "reciprocal": (tkw.reciprocal, torch.reciprocal),
    "tanh": (tkw.tanh, torch.tanh),
    "sinh": (tkw.sinh, torch.sinh),
    "erf": (tkw.erf, torch.erf),
    "sin": (tkw.sin, torch.sin),
    "cos": (tkw.cos, torch.cos),
    "power": (lambda x: tkw.powf(tkw.abs(x), x * 0.1),
              lambda x: x.abs().pow((x.float() * 0.1).double())),
}  # fmt: skip
NEAREST_TO_TURNS = 16367173 * 2.0**72
"""The f32 that is nearest to a multiple of half of pi."""


def within_steps(session, curves, dtype, rtol, atol):
    kind, torch_kind = dtype
    ours, theirs = curves
    kernel = joined(kind, lambda a, b: ours(a) + b * 0.0)
    a = torch.cat([torch.randn(64) * 30, torch.randn(64) * 1e-40]).reshape(2, 64)
    a[0, :3] = torch.tensor([NEAREST_TO_TURNS, 3.1415927, 1e9])
    given = a.to(torch_kind)
    found = torch.full_like(given, 7)
    options = tkw.WaveCompileOptions(
        subs={M: 2, N: 64}, target="gfx942", device="emulator", backend="asm"
    )
    compiled = wave_compile(options, kernel, session=session)
    compiled(given, torch.zeros_like(given), found)
    assert compiled.last_run.reports == ()
    exact = theirs(given.double()).to(torch_kind)
    torch.testing.assert_close(found, exact, rtol=rtol, atol=atol, equal_nan=True)


@pytest.mark.parametrize("name", CURVES)
def test_functions_are_within_steps_of_the_last_bit(session, name):
    within_steps(session, CURVES[name], DTYPES["f32"], 3e-7, 3e-45)


@pytest.mark.parametrize("name", ["sqrt", "log", "erf", "tanh"])
def test_functions_of_f64_are_within_steps_of_the_last_bit(session, name):
    within_steps(session, CURVES[name], DTYPES["f64"], 7e-16, 0)


def test_signs_of_zero_are_kept(session):
    kernel = joined(tkl.f32, lambda a, b: (a * 0.0) - (b / -0.0) * -0.0)
    arrays = torch.randn(2, 64), torch.randn(2, 64)
    same_bits(session, kernel, arrays, "gfx942")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("offset", [1, 3, 4, 5, 7, 8, 12, 15, 16, 32, 33, 40])
def test_lanes_exchange_by_any_distance(session, offset, chip):
    kernel = joined(tkl.i32, lambda a, b: tkw.shuffle(a, offset, 64) + b)
    arrays = values(torch.int32, (4, 64)), values(torch.int32, (4, 64))
    same_bits(session, kernel, arrays, chip)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("mode", ["up", "down"])
@pytest.mark.parametrize(("offset", "width"), [(1, 64), (2, 64), (1, 32)])
def test_lanes_take_what_their_neighbours_have(session, offset, width, mode, chip):
    kernel = joined(tkl.i32, lambda a, b: tkw.shuffle(a, offset, width, mode) + b)
    arrays = values(torch.int32, (4, 64)), values(torch.int32, (4, 64))
    same_bits(session, kernel, arrays, chip)


@pytest.mark.parametrize("chip", CHIPS)
def test_sums_of_lanes_go_around_lds(session, chip):
    """Neighbours are joined as the second operand, rows by the last lane of a wave."""
    text = assembly(session, "softmax", chip, SMALL["softmax"])
    words = [line.split()[0] for line in text.splitlines() if line]
    assert not [word for word in words if word.startswith("ds_")]
    assert words.count("v_readlane_b32") == 2
    assert "v_mov_b32_dpp" not in words
    assert len([word for word in words if word.endswith("_dpp")]) == 12


WAYS = {"add": lambda a, b: a + b, "max": tkw.maximum, "min": tkw.minimum}


def butterfly(way, offsets):
    """What lanes at some distances have, joined."""

    def join(a, b):
        for offset in offsets:
            a = WAYS[way](a, tkw.shuffle(a, offset, 64))
        return a - b

    return join


@pytest.mark.covering(1)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "i64", "i32", "i8"])
def test_lanes_of_a_wave_are_joined(session, dtype, way, chip):
    kind, torch_kind = DTYPES[dtype]
    torch_kind = torch.bfloat16 if dtype == "bf16" else torch_kind
    arrays = values(torch_kind, (4, 64)), values(torch_kind, (4, 64))
    for offsets in [(1, 2, 4, 8, 16, 32), (8, 7, 2, 1, 16, 32), (1, 2, 16, 32), (32,)]:
        same_bits(session, joined(kind, butterfly(way, offsets)), arrays, chip)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("way", ["max", "min"])
def test_what_is_no_number_is_the_extreme_of_a_wave(session, way, chip):
    """In one lane, in all, in none; where steps are all of one kind, and where not."""

    def mixed(a, b):
        a = WAYS["add"](a, tkw.shuffle(a, 1, 64))
        a = butterfly(way, (2, 7, 8, 16, 32))(a, b)
        c = butterfly(way, (1, 2, 7, 8))(b, a)
        return a + butterfly("add", (16, 32))(c, a)

    a, b = values(torch.float32, (4, 64)), values(torch.float32, (4, 64))
    a[0, 37], a[1], a[2, 3], b[3, 60] = math.nan, math.nan, -math.inf, math.nan
    for join in (butterfly(way, (1, 2, 7, 8, 16, 32)), mixed):
        same_bits(session, joined(tkl.f32, join), (a, b), chip)


@pytest.mark.parametrize("chip", CHIPS)
def test_lanes_of_a_wave_that_others_read_too_are_exchanged(session, chip):
    def join(a, b):
        for offset in (1, 2, 7, 8, 16):
            a = a + tkw.shuffle(a, offset, 64)
        moved = tkw.shuffle(a, 32, 64)
        return (a + moved) * b + (a - moved)

    arrays = values(torch.float32, (4, 64)), values(torch.float32, (4, 64))
    same_bits(session, joined(tkl.f32, join), arrays, chip)


def test_an_op_without_instructions_is_refused_with_the_way_out(session):
    kernel = joined(tkl.f64, lambda a, b: tkw.sin(a) + b)
    options = tkw.WaveCompileOptions(
        subs={M: 4, N: 64}, target="gfx942", device="emulator", backend="asm"
    )
    arrays = [torch.zeros(4, 64, dtype=torch.float64) for _ in range(3)]
    with pytest.raises(UserError) as refused:
        wave_compile(options, kernel, session=session)(*arrays)
    text = str(refused.value)
    assert text.startswith(
        "error[WV0610]: backend `asm` selects no instructions of gfx942 for `sin`"
    )
    assert "= note: `sin` of f64" in text
    assert "= help: leave out `backend='asm'`: the MLIR path compiles it" in text


def test_values_without_room_are_refused_with_their_line(session, monkeypatch):
    tried = []
    assembled = module.assembled_program

    def tries(*given, parks):
        tried.append(parks)
        return assembled(*given, parks=parks)

    monkeypatch.setattr(module, "assembled_program", tries)
    kernel = joined(tkl.f32, JOINS["sum"], 64 * 160)
    options = tkw.WaveCompileOptions(
        subs={M: 4, N: 64 * 160}, target="gfx942", device="emulator", backend="asm",
        preset="naive",
    )  # fmt: skip
    with pytest.raises(UserError) as refused:
        wave_compile(options, kernel, session=session)(
            *(torch.zeros(4, 64 * 160) for _ in range(3))
        )
    text = str(refused.value)
    assert text.startswith("error[WV0611]: registers of gfx942 do not hold the values")
    assert "scalar registers are live at" in text
    assert "test_assembly_path.py:" in text
    assert tried == [False, True], "there is no loop out of which anything was taken"


def test_a_backend_that_does_not_know_the_target_is_refused(session):
    options = tkw.WaveCompileOptions(
        subs={M: 4, N: 64}, target="gfx1100", device="emulator", backend="asm"
    )
    with pytest.raises(UserError, match="no backend `asm` makes code for") as refused:
        wave_compile(options, joined(tkl.f32, JOINS["sum"]), session=session)
    assert refused.value.diagnostics[0].code == "WV0719"


def test_the_page_has_code_cycles_and_lines_of_the_path(session):
    """Its text is not indented as LLVM's is, and no line of it was an instruction."""
    case = make_case(session.plugins.load_kernel("gemm"), "gemm", SMALL["gemm"], {},
                     "gfx942")  # fmt: skip
    found = collect(case, session, {"backend": "asm", "preset": "default"})
    timeline = found.documents["cycles"]["timeline"]
    ran = [number for number in found.executed if number >= 0]
    assert ran == list(range(len(timeline["instructions"])))
    lines = [line for line in found.code.lines if line.instruction]
    assert all(line.place is not None for line in lines)
    assert any(line.text.startswith("v_mfma") for line in lines)
    sources = {row["source"].rpartition(":")[2] for row in timeline["instructions"]}
    assert {str(line.place[1]) for line in lines} >= sources


def test_the_command_line_shows_what_the_path_makes(monkeypatch):
    monkeypatch.setenv("WAVE_CACHE", "off")
    asked = ["inspect", "copy", "--target", "gfx942", "--shape", "M=19,N=70"]
    shown = []
    for more in (["--via", "asm"], ["--option", "backend=asm"], []):
        found = CliRunner().invoke(app, [*asked, "--what", "lines", "--json", *more])
        assert found.exit_code == 0, found.output
        shown.append(json.loads(found.output.splitlines()[-1]))
    assert shown[0] == shown[1] != shown[2]
    unfit = CliRunner().invoke(app, [*asked, "--what", "lines", "--via", "nothing"])
    assert "WV0719" in str(unfit.exception)


def test_metrics_are_those_of_the_text_that_is_assembled(session):
    sizes = {"M": 64, "N": 64, "K": 4096}
    case = make_case(session.plugins.load_kernel("gemm"), "gemm", sizes, {}, "gfx942")
    options = replace(case.options, backend="asm", preset="default")
    data, text = (
        next(iter(emit(options, case.kernel, form, session).files.values())).decode()
        for form in ("metrics", "asm")
    )
    metrics, words = (
        json.loads(data),
        re.findall(r"^ *([a-z]\w*)\b", text, re.MULTILINE),
    )
    issued = [word for word in words if word.startswith(("v_", "s_", "ds_", "buffer_"))]
    assert metrics["counts"]["total"] == len(issued)
    assert metrics["hot"]["flops"] > 0
    assert metrics["resources"]["waves_per_simd"] > 0
    assert f".vgpr_count: {metrics['resources']['vgprs']}\n" in text


def test_the_command_line_shows_metrics_of_the_path(session, monkeypatch):
    monkeypatch.setattr("wave_core.cli.inspect.open_session", lambda: session)
    asked = ["inspect", "copy", "--target", "gfx942", "--what", "asm", "--via", "asm"]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    assert "hot loop" in found.output


def test_the_command_line_chooses_the_path(session, monkeypatch):
    monkeypatch.setattr("wave_core.cli.compile.open_session", lambda: session)
    asked = ["compile", "copy", "--target", "gfx942", "--emit", "asm", "--via", "asm"]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    assert "buffer_load_dword" in found.output
    assert ".amdhsa_kernel copy" in found.output


ROWS = tkl.sym.ROWS
BY_INDEX = {
    "num_iterators": 2,
    "dynamic_val_mappings": {M: tkw.IndexMapping.iterator(0)},
}
PLACES = {ROWS: tkw.IndexMapping.dynamic_val(0), N: tkw.IndexMapping.iterator(1)}
TILE = {M: tkw.IndexMapping.iterator(0), N: tkw.IndexMapping.iterator(1)}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("writes", [False, True])
def test_rows_that_are_not_there_are_kept_away_by_the_descriptor(session, chip, writes):
    """Nothing proves that an index of the user's is inside: 0 is read, none written."""
    table = tkl.Memory[ROWS, N, GLOBAL, tkl.f32]
    indices = tkl.Memory[M, GLOBAL, tkl.i32]
    tile = tkl.Memory[M, N, GLOBAL, tkl.f32]
    gathers = tkw.IndexMapping(inputs=PLACES, outputs=TILE, **BY_INDEX)
    scatters = tkw.IndexMapping(inputs=TILE, outputs=PLACES, **BY_INDEX)

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 4, 0),
            tkw.WorkgroupConstraint(N, 64, 1),
            tkw.HardwareConstraint(),
        ]
    )
    def moved(a: table, at: indices, c: tile):
        rows = (tkw.read(at),)
        if writes:
            found = tkw.read(c)
            tkw.write(found, a, mapping=scatters, mapping_dynamic_vals=rows)
        else:
            found = tkw.read(a, mapping=gathers, mapping_dynamic_vals=rows)
            tkw.write(found, c)

    options = tkw.WaveCompileOptions(
        subs={M: 8, N: 64, ROWS: 16}, target=chip, device="emulator", backend="asm"
    )
    at = torch.tensor([3, 1000, 5, -7, 15, 16, 0, 2], dtype=torch.int32)
    here = (at >= 0) & (at < 16)
    a, c = torch.randn(16, 64), torch.randn(8, 64)
    wanted, rows = a.clone(), a[at.clamp(0, 15).long()] * here[:, None]
    wanted[at[here].long()] = c[here]
    wave_compile(options, moved, session=session)(a, at, c)
    assert torch.equal(a, wanted) if writes else torch.equal(c, rows)
