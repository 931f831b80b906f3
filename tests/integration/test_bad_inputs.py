"""Bad inputs of many kinds: a code, the user's line, what to do; no traceback."""

from __future__ import annotations

import importlib.util
from functools import reduce
from pathlib import Path

import pytest

from wave_core.compile import Session
from wave_core.diagnostics import WaveError

#: A user's file; each case replaces one of its parts.
FILE = """
import math
import numpy as np
import sympy
import torch
import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile, WaveCompileOptions

sym = tkl.sym
M, N, K, B, BLOCK = sym.M, sym.N, sym.K, sym.B, sym.BLOCK
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE


def f32(*shape):
    return np.zeros(shape, np.float32)


def run(session):
    rows = CONSTRAINTS

    @tkw.wave(rows)
    def kernel(SIGNATURE):
        BODY

    options = WaveCompileOptions(OPTIONS)
    compiled = wave_compile(options, kernel, session=session)
    compiled(ARGUMENTS)
"""

GROUP = "tkw.WorkgroupConstraint(M, 16, 0)"
OTHER = "tkw.WorkgroupConstraint(N, 16, 1)"
HARDWARE = "tkw.HardwareConstraint(threads_per_wave=64)"
LOOP = "tkw.TilingConstraint(K, 16)"
GOOD_ROWS = (GROUP, OTHER, LOOP, HARDWARE)

GOOD = {
    "CONSTRAINTS": f"[{GROUP}, {OTHER}, {LOOP}, {HARDWARE}]",
    "SIGNATURE": (
        "a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32], "
        "c: tkl.Memory[M, K, GLOBAL, tkl.f32], i: tkl.Memory[M, N, GLOBAL, tkl.i32]"
    ),
    "BODY": "tkw.write(tkw.read(a), b)",
    "OPTIONS": "subs={M: 32, N: 32, K: 32}, device='sim'",
    "ARGUMENTS": "f32(32, 32), f32(32, 32), f32(32, 32), f32(32, 32).astype('i4')",
}


#: In each line a form, and what stands for ``?`` in one case after the other.
CONSTRAINTS = """
? :: None; 5; 'rows'; {}; [5]; [None]; [int]; [[]]; [{}]; []; {HARDWARE}
[{HARDWARE}] * ? :: 2
[{GROUP}] + ? :: []; [{GROUP}, {HARDWARE}]
"""

SIZES = """-1; 0; 1.5; 'x'; None; math.nan; math.inf; True; [16]; {}; 10**400; 2**63;
np.float32(16); torch.tensor(16); b'x'"""

#: Constraints that are added to good ones, in place of the same on the same dimension.
ADDED = f"""
WorkgroupConstraint(M, ?, 0) :: {SIZES}
WorkgroupConstraint(M, 16, ?) :: -1; 9; 1.0; None; 'x'; True; M; 10**400; 1
WorkgroupConstraint(?, 16, 0) :: 5; None; 'M'; M + 1; 2 * M; K; M / 2; 1.5; 2**40
WorkgroupConstraint(M, 16, 0, iters=?) :: -2; 'x'; 1.5
WorkgroupConstraint(M, 16, 0, primary=?) :: 'x'; 2
WorkgroupConstraint(M, 16, 0, apply_fn=?) :: 5; 'x'; lambda: 1; lambda w: 'x'
WorkgroupConstraint(M, 16, 0, apply_fn=lambda w: ?) :: 1 / 0; w / 3; None; int(w)
WorkgroupConstraint(M, 16, 0, apply_fn=lambda w: w // (N - ?)) :: 32
WorkgroupConstraint(M?) :: , 16; , 16, 0, 1, 2, 3, 4; , 16, 0, sizes=4
WorkgroupConstraint(M, N // (K - ?), 0) :: 32
WaveConstraint(M, ?) :: {SIZES}; 5; 32; BLOCK
WaveConstraint(?, 8) :: K; 5; 'M'; M + N; None
WaveConstraint(M, 8, wave_id=?) :: -1; 'x'; 1.5
WaveConstraint(M, 8, wg_constraint=?) :: 5; 'x'; M; {OTHER}
TilingConstraint(K, ?) :: -1; 0; 1.5; 'x'; math.nan; True; [16]; {{}}; 10**400; 2**63
TilingConstraint(K, 16, induction_var=?) :: 5; 'x'; 1.5; M + 1; True
TilingConstraint(K, 16, iters=?) :: -2; 'x'; 1.5
TilingConstraint(K, 16, start=?) :: -2; 'x'; 1.5
DeviceConstraint(M, 32, ?) :: -1; 9; 'x'; 1.0
DeviceConstraint(M, ?, 0) :: -1; 0; 'x'; 1.5
HardwareConstraint(threads_per_wave=?) :: -1; 0; 32; 'x'; 64.0; True; [64]; 10**400; M
HardwareConstraint(waves_per_block=?) :: 0; (0,); (0, 1, 1); (-1,); 'x'; (1.0,); 5; ()
HardwareConstraint(waves_per_block=?) :: [1, 'x']; (10**400,); (1,) * 9; {{1: 2}}
HardwareConstraint(waves_per_block=?) :: (True,)
HardwareConstraint(mma_type=?) :: 5; []
HardwareConstraint(max_bits_per_load=?) :: -8; 0; 'x'; 7; 1.5; None; True
HardwareConstraint(vector_shapes=?) :: 5; 'x'; [1]
HardwareConstraint(vector_shapes={{M: ?}}) :: -1; 'x'; 1.5; None
HardwareConstraint(n_service_waves=?) :: 2; -1
HardwareConstraint(workgroups_per_cluster=?) :: (2, 1, 1); 5
HardwareConstraint(?) :: threads=64; 64, 1, 1, 1, 1, 1, 1, 1
GridConstraint(?) :: -1; 'x'; 1.5; None; (1, 2); 10**400
ReorderingConstraint(?, 0) :: 'x'; tkw.WORKGROUP_0 // 2; -1; 1.5; 5; None
ReorderingConstraint(tkw.WORKGROUP_0, ?) :: -1; 9; 'x'
SymbolicAlias(B, M, ?) :: 5; 'x'; lambda: 1; lambda m: 'x'; None
Assumption(?) :: 5; 'x'; None; M > 100; 1.5; False
IteratorBindings(?) :: 5; 'x'; {{5: M}}; {{M: 'x'}}; [M]
"""


#: What a kernel does.
BODIES = """
tkw.read(?) :: 5; None; 'a'; tkw.read(a); a, b, c, a, b, c, a, b; a, elements=4
tkw.read(?) :: kernel; [a]; np.zeros(4); torch.zeros(4)
tkw.write(tkw.read(a), b, elements_per_thread=?) :: 'x'; -1; 0; 1.5; 10**400; True
tkw.write(tkw.read(a), b, elements_per_thread=?) :: [4]; np.zeros(3); torch.zeros(3)
tkw.read(a, elements_per_thread=?) :: 'x'; -1; 0; 1.5; 10**400
tkw.read(a, mapping=?) :: 5; 'x'; {}; lambda i: i; tkw.IndexMapping(0, {}, {})
tkw.read(a, mapping=?) :: tkw.IndexMapping('x', {}, {})
tkw.read(a, mapping=?) :: tkw.IndexMapping(-1, {M: 0, N: 0}, {M: 0, N: 0})
tkw.read(a, mapping=?) :: tkw.IndexMapping(2, 5, 6)
tkw.read(a, mapping=?) :: tkw.IndexMapping(2, {M: 'x', N: 1}, {M: M, N: N})
tkw.read(a, mapping=?) :: tkw.IndexMapping(2, {M: 0, N: 1})
tkw.read(a, mapping=?) :: tkw.IndexMapping(10**400, {}, {})
tkw.read(a, mapping=?) :: tkw.IndexMapping(1.5, {}, {})
tkw.read(a, mapping=?) :: tkw.IndexMapping(2, {M: 0}, {M: 0}, 5)
tkw.read(a, flags=?) :: 'x'; 99; None; 1.5
tkw.read(a, bounds=?) :: 5; 'x'; M; [M]; {K: 4}; {'Q': 4}; {5: M}; {None: M}
tkw.read(a, bounds={M: ?}) :: 'x'; 1.5; None; a; tkw.read(i); M / 3; BLOCK
tkw.sum(?) :: []; (); [], dim=N; 5; a; None; tkw.read(a), dim=[M, M]; tkw.read(a), dim=K
tkw.sum(?) :: tkw.read(a), dim='x'; tkw.read(a), dim=5; tkw.read(a), dim=-1
tkw.sum(?) :: tkw.read(a), dim=[]; tkw.read(a), 'x', N
tkw.sum(?) :: tkw.read(a), dim=N, block='x'; [tkw.read(a), tkw.read(i)], dim=N
tkw.sum(?) :: tkw.read(a), tkw.read(i), N; [tkw.read(a), 5], dim=N
tkw.sum(?) :: tkw.read(a), dim=M+1; tkw.read(a) > 0, dim=N; tkw.read(a), dim=(N, N)
tkw.broadcast(?) :: tkw.read(a), 5; tkw.read(a), [M]; tkw.read(a), []; 5, [M]
tkw.broadcast(?) :: tkw.read(a), ['x']; tkw.read(a), None; tkw.read(a), [M, N, N]
tkw.broadcast(?) :: a, [M]
tkw.permute(?) :: tkw.read(a), [M]; tkw.read(a), [M, M]; tkw.read(a), [M, K]
tkw.permute(?) :: tkw.read(a), 5; tkw.read(a), None; 5, [M, N]
tkw.reshape(?) :: tkw.read(a), 5; [], {M: 1}; tkw.read(a), {M: 'x'}
tkw.reshape(?) :: tkw.read(a), None; tkw.read(a), [M, N], -1, 1
tkw.reshape(?) :: tkw.read(a), [M, N], 0, 0; tkw.read(a), [M, N], 'x', 1
tkw.extract(?) :: tkw.read(a), 'x'; tkw.read(a), [1, 2, 3]; tkw.read(a), 1.5; 5, 0
tkw.extract(?) :: tkw.read(a), None; tkw.read(a), []; tkw.read(a), -1; tkw.read(a), 16
tkw.extract(?) :: tkw.read(a), 10**400; tkw.read(a), K - N - 1
tkw.extract_slice(tkw.read(a), ?) :: [0], [N], [0]; [-1], [N], [1]; [], [], [1]
tkw.extract_slice(tkw.read(a), ?) :: 'x', [N], [1]; [0], ['x'], [1]; [0], [N], [1.5]
tkw.extract_slice(tkw.read(a), ?) :: [0] * 3, [M, N, K], [1] * 3; [0, 0], [N, N], [1, 1]
tkw.extract_slice(?, [0], [N], [1]) :: a; 5; None
tkw.set_symbol(?, 5) :: 5; M + 1; None; 'x y'; tkl.f32; a; M; K; tkw.WORKGROUP_0
tkw.cast(?) :: tkw.read(a), 'f32'; tkw.read(a), float; tkw.read(a), torch.float32
tkw.cast(?) :: tkw.read(a), None; 5, tkl.f32; tkw.read(a); a, tkl.f16
tkw.select(?) :: tkw.read(a), 1.0, 2.0; True, 1.0, 2.0; tkw.read(a) > 0, 1.0, 'x'
tkw.select(?) :: tkw.read(a) > 0, 1.0, 2.0; tkw.read(a) > 0, BLOCK, tkw.read(a)
tkw.apply_expr(tkw.read(i), ?) :: lambda x: x + BLOCK
tkw.conditional(?)(lambda: tkw.write(tkw.read(a), b)) :: BLOCK > 3
tkw.select(?) :: tkw.read(a) > 0, tkw.read(a), tkw.read(i)
tkw.shuffle(tkw.read(a), ?) :: 'x', 64; 1, 63; 1, 0; 1, -1; 1, 'x'; 1, 64, 'zig'
tkw.shuffle(tkw.read(a), ?) :: 1, 64, 5; -1, 64; 1, 10**400; 1.5, 64
tkw.scalar(?) :: 'x', tkl.f32; 5, 'f32'; 5; None, tkl.f32; math.nan, tkl.i32
tkw.scalar(?) :: 10**400, tkl.f32; 2**40, tkl.i32; 1.5, tkl.i32; M, float
tkw.scalar(?) :: tkw.read(a), tkl.f32
tkl.Register[?] :: M, N; (); tkl.f32, M; M, 'f32'; GLOBAL, tkl.f32
tkl.Register[M, N, tkl.f32](?) :: 'x'; None; a; 10**400; [0.0]
tkw.self_index(?) :: K, tkl.f32; M; M, 'i32'; 'x', tkl.i32; None, tkl.i32
tkw.self_index(?) :: [M, M], tkl.i32; [], tkl.i32
tkw.apply_expr(?) :: tkw.read(i), 5; tkw.read(i), lambda: 1
tkw.apply_expr(?) :: tkw.read(i), lambda x: 'x'; tkw.read(a), lambda x: x
tkw.apply_expr(?) :: [], lambda: 1; 5, lambda x: x; tkw.read(i), lambda x: 1 / 0
tkw.apply_expr(tkw.read(i), lambda x: ?) :: x / 3; 7 / (x + 1); x / BLOCK > 5; x % 0
tkw.apply_expr(tkw.read(i), lambda x: ?) :: sympy.Max(x / 3, 1); x + 0.5; x ** -1
tkw.write(?, i) :: tkw.read(i) // 0; tkw.read(i) % tkw.read(i)
tkw.apply_expr(?) :: tkw.read(i), lambda x: x // 0; tkw.read(i), lambda x: None
tkw.allocate(?) :: (M, N), (16, 16), 'f32'; (M, N), (16,), tkl.f32; (), (), tkl.f32
tkw.allocate(?) :: (M, N), (-1, 16), tkl.f32
tkw.allocate(?) :: (M, N), (0, 16), tkl.f32; (M, N), ('x', 16), tkl.f32
tkw.allocate(?) :: (M, N), (16, 16), tkl.f32, GLOBAL
tkw.allocate(?) :: (M, N), (16, 16), tkl.f32, padding=-1
tkw.allocate(?) :: (M, N), (16, 16), tkl.f32, padding='x'
tkw.allocate(?) :: (M, N), (16, 16), tkl.f32, padding=1.5; (M, M), (16, 16), tkl.f32
tkw.allocate(?) :: (M, N), None, tkl.f32; (M, N), (10**400, 1), tkl.f32
tkw.allocate(?) :: (M, N), (16, 16), tkl.f32, padding=2**40
tkw.allocate((M,), (16,), tkl.f32, ?) :: tail_padding=-1; tail_padding='x'; parent=5
tkw.allocate((M,), (16,), tkl.f32, ?) :: tail_padding=2**40; parent=tkw.read(a)
tkw.allocate((M,), (4,), tkl.i8, parent=a, offset=?) :: 'x'; -16
tkw.iterate(?)(lambda: None) :: M; 5; None; 'x'; K, 5; K, [5]; K, [tkw.read(a)]
tkw.iterate(?)(lambda: None) :: K, step=0; K, step=-1; K, step='x'; K, step=1.5
tkw.iterate(?)(lambda: None) :: K, start='x'; K, [None]; K, step=10**400
tkw.iterate(?)(lambda: None) :: K, step=K; B; K + 1
tkw.conditional(?)(lambda: None) :: 5; None; 'x'; tkw.read(a); a; M; 1.5
? :: tkw.read(a, mapping_dynamic_vals=(5,)); tkw.read(a, source=[M])
? :: tkw.read(a, source=5, target=5); tkw.read(a, source=[M, N], target=[M, N])
? :: tkw.read(a, tag=5); tkw.write(5, b); tkw.write(tkw.read(a), b, bounds=[M])
? :: tkw.write(a, b); tkw.write(tkw.read(a), 5); tkw.write(tkw.read(a))
? :: tkw.write(tkw.read(a), c); tkw.write(tkw.read(i), b)
? :: tkw.write(tkw.read(a), tkw.read(b)); a + 1.0; 1.0 + a; -a; a + b; a < b
? :: a[0]; a[0] = 1; len(a); float(a); tkw.exp(a); for x in a: pass
? :: tkw.read(a)[0]; tkw.read(a)[0] = 1; len(tkw.read(a)); list(tkw.read(a))
? :: x, y = tkw.read(a); range(tkw.read(i)); [1, 2][tkw.read(i)]
? :: while tkw.read(a) > 0: pass; if tkw.read(a) > 0: pass; max(tkw.read(a), 0.0)
? :: min(tkw.read(a), 0.0); sum(tkw.read(a)); abs(a); round(tkw.read(a))
? :: tkw.read(a) and 1; not tkw.read(a); assert tkw.read(a) > 0
? :: 0 < tkw.read(a) < 1; math.exp(tkw.read(a)); np.exp(tkw.read(a))
? :: np.maximum(tkw.read(a), 0); torch.exp(tkw.read(a)); sympy.exp(tkw.read(a))
? :: tkw.read(a) + 'x'; tkw.read(a) + None; tkw.read(a) + [1]
? :: tkw.read(a) + np.zeros(4); np.zeros(4) + tkw.read(a)
? :: tkw.read(a) + torch.zeros(4); torch.zeros(4) + tkw.read(a)
? :: tkw.read(a) + tkw.read(i); tkw.read(a) + 1j; 1j * tkw.read(a)
? :: tkw.read(a) @ tkw.read(b); tkw.read(a).shape; tkw.read(a).to('x')
? :: int(tkw.read(i)); tkw.read(a) << 1; divmod(tkw.read(a), 2); tkw.read(a) & 1
? :: ~tkw.read(a); tkw.read(a) + 10**400; tkw.read(i) + 2**40; tkw.read(i) + 1.5
? :: tkw.read(i) + math.nan; tkw.read(a) ** 'x'; tkw.read(a) / None
? :: tkw.mma(tkw.read(a), tkw.read(b), tkw.read(a)); tkw.mma(1, 2, 3)
? :: tkw.mma(a, b, c); tkw.mma(tkw.read(c), tkw.read(c), tkw.read(a), 5)
? :: tkw.mma(tkw.read(c)); tkw.iterate(K)(5); tkw.iterate(K)(lambda x: x)
? :: tkw.iterate(K, [tkw.read(a)])(lambda x: (x, x))
? :: tkw.iterate(K, [tkw.read(a)])(lambda x: tkw.read(i))
? :: tkw.conditional(M > 4, tkw.read(a))(lambda: None)
? :: tkw.conditional(tkw.scalar(1, tkl.i32) > 0)(5); return tkw.read(a); return 5
? :: yield tkw.read(a); tkw.cumsum(tkw.read(a), dim=K); kernel(a)
? :: tkw.set_symbol(B, 1.5); tkw.get_result(5); tkw.get_result(tkw.read(a), 5)
? :: tkw.tag(5, 'x'); tkw.tag(tkw.read(a), 5); tkw.maximum(tkw.read(a))
? :: tkw.maximum(1, 2); tkw.exp('x'); tkw.exp(5); tkw.exp(tkw.read(i))
? :: tkw.atan2(tkw.read(a), tkw.read(i)); tkw.gather_to_lds(a, b)
? :: tkw.gather_to_lds(5, 5); tkw.set_wave_prio(9); tkw.set_wave_prio('x')
? :: tkw.memory_counter_wait(load=-1); tkw.memory_counter_wait('x')
? :: tkw.scheduling_group_barrier(5); tkw.scheduling_group_barrier({'x': 1})
? :: tkw.workgroup_barrier(5); tkw.powf(tkw.read(a)); tkw.wave_compile(5, 6)
"""


#: What the first parameter of a kernel is annotated with; ``?`` in it.
ANNOTATIONS = """
? :: tkl.Memory; tkl.SymbolBind; tkl.Register; tkl.MemoryLayout; 5; M; np.ndarray; int
tkl.Memory[?, tkl.f32] :: M, N; M, N, 5; M, N, 'GLOBAL'; M, GLOBAL, N; GLOBAL; ()
tkl.Memory[?, GLOBAL, tkl.f32] :: M, None; M, 1.5; M, {}; M, M
tkl.Memory[M, N, GLOBAL, ?] :: 'f32'; float; np.float32; tkl.f32, 5
tkl.Memory[M, N, GLOBAL, tkl.f32, tkl.MemoryLayout(shape=?)] :: 5; 'x'; None; (M,)
tkl.Memory[M, N, GLOBAL, tkl.f32, tkl.MemoryLayout(shape=?)] :: (1.5, 2); (-1, 4)
tkl.Memory[M, N, GLOBAL, tkl.f32, tkl.MemoryLayout(?)] :: ; 1, 2; form=(M, N)
tkl.Memory(?) :: M, N; M, N, GLOBAL, tkl.f32, 5
tkl.SymbolBind[?] :: 5; tkl.f32; 'i32'; tkl.i32, tkl.i32
"""

#: Options of a compilation on the simulator.
OPTIONS = """
? :: 5; {M: 3}; nope=1; unroll=2
?=5 :: plugin_options; dynamic_symbols; passes; disable_passes; target; preset; pipeline
?=np.zeros(3) :: unroll_factor; target; preset; dump_binaries
?=5 :: print_ir_after; print_ir_before; verify_each; timing; checks; poison_outputs
?=5 :: schedule; override_schedule; dump_schedule; use_fast_math; dump_binaries
?=5 :: override_mlir; denorm_fp_math_f32; reorder; enable_swizzle; location
?=None :: dynamic_symbols; plugin_options; passes; disable_passes; preset; target
?=-1 :: cost_limit; waves_per_eu; unroll_factor; multi_buffer_count; schedule
?=10**400 :: waves_per_eu; unroll_factor; multi_buffer_count
?='x' :: schedule; reorder; print_ir_after; pipeline; preset; target; waves_per_eu
?='x' :: denorm_fp_math_f32; disable_passes; passes; checks; cost_limit
?=chr(0) :: override_schedule; dump_schedule; override_mlir; dump_intermediates
passes=? :: {5: {}}; {'schedule-loops': {5: 1}}; {'schedule-loops': {'unroll': []}}
passes=? :: {'schedule-loops': 5}; 'schedule-loops{'; ['schedule-loops{unroll=}']
passes=? :: 'schedule-loops{interval=-1}'; 'minimize-global-loads{max-bits=-8}'
passes=? :: 'pack-shared-memory{alignment=0}'; 'reorder-loops{clusters=0}'
passes=? :: {'schedule-loops': {'nope': 1}}; 'nope'
plugin_options=? :: {'nope': 1}; {5: 1}; {'compiler_time_limit_s': 0}
dynamic_symbols=? :: [M]; [M + 1]; ['']; [5]; [None]
disable_passes=? :: 'expand-tiles'; [5]; {'x'}
"""

BINDINGS = """
? :: 5; None; 'x'; []; {5: 5}; {None: 1}; {'': 1}; {M + 1: 5}; {tkl.f32: 5}; {M: 32}
{M: ?, N: 32, K: 32} :: 'x'; None; 1.5; -1; True; M; K / 2 + M; 1j; [32]; math.nan; B
{M: ?, N: 32, K: 32} :: 10**400; GLOBAL; np.float32(32); torch.tensor(1.5); lambda: 1
{M: ?, N: 32, K: 32} :: sympy.Rational(1, 2); sympy.oo; sympy.I; b'x'; 2**63
"""


def cases(table):
    """All forms of a table with each of their texts."""
    for line in filter(None, table.replace(";\n", "; ").splitlines()):
        form, texts = line.split(" :: ")
        for text in texts.split("; "):
            yield form.replace("?", text)


def added(text):
    """Good constraints with one more; one of its kind and dimension goes."""
    text = f"tkw.{text}"
    start = text.partition("(")[0] if "Hardware" in text else text.partition(",")[0]
    kept = [each for each in GOOD_ROWS if not each.startswith(start)]
    return f"[{', '.join([*kept, text])}]"


def all_cases():
    names = (("{HARDWARE}", HARDWARE), ("{GROUP}", GROUP))
    for text in cases(CONSTRAINTS):
        yield "CONSTRAINTS", reduce(lambda t, row: t.replace(*row), names, text)
    yield from (("CONSTRAINTS", added(text)) for text in cases(ADDED))
    yield from (("BODY", text) for text in cases(BODIES))
    rest = GOOD["SIGNATURE"].partition(", b:")[2]
    for text in cases(ANNOTATIONS):
        yield "SIGNATURE", f"a: {text}, b:{rest}"
    for text in cases(OPTIONS):
        bound = "" if text in {"5", "{M: 3}"} else f"{GOOD['OPTIONS']}, "
        yield "OPTIONS", bound + text
    yield from (("OPTIONS", f"device='sim', subs={text}") for text in cases(BINDINGS))


CASES = tuple(all_cases())
SESSION = Session(announce=lambda _: None)


def load(folder, replaced):
    text = FILE
    for part, good in GOOD.items():
        text = text.replace(part, replaced.get(part, good))
    path = folder / "users_file.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("users_file", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return path, module


def test_the_file_itself_is_good(tmp_path):
    load(tmp_path, {})[1].run(SESSION)


@pytest.mark.parametrize(("part", "text"), CASES)
def test_bad_input(part, text, tmp_path):
    refuses(tmp_path, {part: text})


def refuses(folder, replaced):
    path, module = load(folder, replaced)
    with pytest.raises(WaveError) as caught:
        module.run(SESSION)
    found = caught.value.diagnostics[0]
    assert not found.code.startswith("WV99")
    assert found.help
    assert found.location is not None
    assert Path(found.location.file) == path


def test_a_value_of_a_constraint_that_means_nothing(tmp_path):
    row = "[tkw.HardwareConstraint(waves_per_block=0)]"
    path, module = load(tmp_path, {"CONSTRAINTS": row})
    with pytest.raises(WaveError) as caught:
        module.run(SESSION)
    assert str(caught.value).replace(str(path), "users_file.py") == (
        """\
error[WV0327]: `waves_per_block` of HardwareConstraint is 0
   --> users_file.py:20:13 in run
20 |     rows = [tkw.HardwareConstraint(waves_per_block=0)]
   |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ given here
   = help: it takes a positive integer for each of 1 to 5 axes"""
    )


def test_a_tile_of_more_pieces_than_a_compiler_can_take(tmp_path):
    """16 million elements of four in each of 64 lanes; it is told in no time."""
    rows = f"[tkw.WorkgroupConstraint(M, 2**24, 0), {HARDWARE}]"
    replaced = {"CONSTRAINTS": rows, "SIGNATURE": "a: tkl.Memory[M, GLOBAL, tkl.f32]"}
    body = {"BODY": "tkw.write(tkw.read(a), a)", "ARGUMENTS": "f32(32)"}
    path, module = load(tmp_path, replaced | body)
    with pytest.raises(WaveError) as caught:
        module.run(SESSION)
    assert str(caught.value).replace(str(path), "users_file.py") == (
        """\
error[WV0328]: the tiles of a wave are cut into 65536 pieces, and 32768 are the most
   --> users_file.py:24:19 in kernel
24 |         tkw.write(tkw.read(a), a)
   |                   ^^^^^^^^^^^ 65536 of them
   = help: use smaller tiles, or a loop over a large dimension"""
    )


#: Bodies of several lines: what only compiling or running tells.
LATER = (
    ("b_tile = tkw.allocate((M, N), (2**20, 2**20), tkl.f32)", "b_tile"),
    ("b_tile = tkw.allocate((M, N), (16, 16), tkl.f32, padding=2**31 - 200)", "b_tile"),
)


@pytest.mark.parametrize(("first", "memory"), LATER)
def test_a_buffer_beyond_the_machine(first, memory, tmp_path):
    copies = f"tkw.write(tkw.read(a), {memory}); tkw.write(tkw.read({memory}), b)"
    test_bad_input("BODY", f"{first}; {copies}", tmp_path)


@pytest.mark.parametrize("name", ["override_schedule", "dump_schedule"])
@pytest.mark.parametrize("file", ["/nope/x", "/", "x" * 300])
def test_a_file_of_a_schedule(name, file, tmp_path):
    loop = "tkw.iterate(K)(lambda: tkw.write(tkw.read(c), c))"
    options = f"{GOOD['OPTIONS']}, schedule='prefetch', {name}={file!r}"
    refuses(tmp_path, {"BODY": loop, "OPTIONS": options})


def test_an_argument_out_of_range(tmp_path):
    path, module = load(tmp_path, {"BODY": "tkw.read(a, elements_per_thread=-8)"})
    with pytest.raises(WaveError) as caught:
        module.run(SESSION)
    assert str(caught.value).replace(str(path), "users_file.py") == (
        """\
error[WV0222]: `elements_per_thread` of `read` is -8
   --> users_file.py:24:9 in kernel
24 |         tkw.read(a, elements_per_thread=-8)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ given here
   = help: it takes an integer from 1 or nothing"""
    )


def test_a_size_where_the_address_space_belongs(tmp_path):
    signature = "a: tkl.Memory[M, N, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]"
    path, module = load(tmp_path, {"SIGNATURE": signature})
    with pytest.raises(WaveError) as caught:
        module.run(SESSION)
    assert str(caught.value).replace(str(path), "users_file.py") == (
        """\
error[WV0220]: `a` has size `N` where its address space belongs
   --> users_file.py:23:16 in kernel
23 |     def kernel(a: tkl.Memory[M, N, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]):
   |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ before the element type
   = help: write `a: Memory[M, N, GLOBAL_ADDRESS_SPACE, f32]`"""
    )


def test_a_size_is_not_set(tmp_path):
    path, module = load(tmp_path, {"BODY": "tkw.set_symbol(M, 5)"})
    with pytest.raises(WaveError) as caught:
        module.run(SESSION)
    assert str(caught.value).replace(str(path), "users_file.py") == (
        """\
error[WV0118]: `set_symbol` of `M`, which has a value already
   --> users_file.py:24:9 in kernel
24 |         tkw.set_symbol(M, 5)
   |         ^^^^^^^^^^^^^^^^^^^^ sizes, tiles and masks follow from that one
   = help: set a symbol of your own: `set_symbol(sym.OFFSET, value)`"""
    )


def test_an_option_of_a_pass_out_of_range(tmp_path):
    path, module = load(tmp_path, {"OPTIONS": "unroll_factor=-1"})
    with pytest.raises(WaveError) as caught:
        module.run(SESSION)
    assert str(caught.value).replace(str(path), "users_file.py") == (
        """\
error[WV0804]: option `unroll` of `schedule-loops` cannot be `-1`
   --> users_file.py:26:15 in run
26 |     options = WaveCompileOptions(unroll_factor=-1)
   |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ given by option unroll_factor
   = help: it takes int from 1"""
    )


def test_a_symbol_of_an_op_without_a_value(tmp_path):
    body = "tkw.write(tkw.read(a) * tkw.scalar(BLOCK, tkl.f32), b)"
    path, module = load(tmp_path, {"BODY": body})
    with pytest.raises(WaveError) as caught:
        module.run(SESSION)
    assert str(caught.value).replace(str(path), "users_file.py") == (
        """\
error[WV0301]: symbol `BLOCK` has no value
   --> users_file.py:24:33 in kernel
24 |         tkw.write(tkw.read(a) * tkw.scalar(BLOCK, tkl.f32), b)
   |                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^ `scalar` uses it
25 |
26 |     options = WaveCompileOptions(subs={M: 32, N: 32, K: 32}, device='sim')
   |               ------------------------------------------------------------ these\
 options do not bind it
   = help: bind it: WaveCompileOptions(subs={BLOCK: ...})"""
    )


def test_a_tile_that_a_launch_makes_empty(tmp_path):
    changed = {
        "CONSTRAINTS": "[tkw.WorkgroupConstraint(M, N, 0), tkw.HardwareConstraint()]",
        "OPTIONS": "subs={K: 32}, dynamic_symbols=[M, N], device='sim-logical'",
        "ARGUMENTS": "f32(8, 0), f32(8, 0), f32(8, 32), f32(8, 0).astype('i4')",
    }
    refuses(tmp_path, changed)
