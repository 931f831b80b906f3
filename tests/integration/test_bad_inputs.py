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
WorkgroupConstraint(?, 16, 0) :: 5; None; 'M'; M + 1; 2 * M; K; M / 2; 1.5
WorkgroupConstraint(M, 16, 0, iters=?) :: -2; 'x'; 1.5
WorkgroupConstraint(M, 16, 0, primary=?) :: 'x'; 2
WorkgroupConstraint(M, 16, 0, apply_fn=?) :: 5; 'x'; lambda: 1; lambda w: 'x'
WorkgroupConstraint(M, 16, 0, apply_fn=lambda w: ?) :: 1 / 0; w / 3; None; int(w)
WorkgroupConstraint(M, 16, 0, apply_fn=lambda w: w // (N - ?)) :: 32
WorkgroupConstraint(M?) :: ; , 16; , 16, 0, 1, 2, 3, 4; , 16, 0, sizes=4
WorkgroupConstraint(M, N // (K - ?), 0) :: 32
WaveConstraint(M, ?) :: {SIZES}; 5; 32; BLOCK
WaveConstraint(?, 8) :: K; 5; 'M'; M + N; None
WaveConstraint(M, 8, wave_id=?) :: -1; 'x'; 1.5
TilingConstraint(K, ?) :: -1; 0; 1.5; 'x'; math.nan; True; [16]; {{}}; 10**400; 2**63
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
    path, module = load(tmp_path, {part: text})
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
   = help: it takes 1 to 3 positive integers"""
    )
