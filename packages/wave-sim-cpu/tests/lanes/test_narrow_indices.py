"""Index registers of few bits, whose products with a row's length need more."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

M, N, R = tkl.sym.M, tkl.sym.N, tkl.sym.R
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SIZES = {M: 37, N: 50, R: 120}


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def gather(session, dtype, device):
    """Rows that a table of ``dtype`` names; what came, what should, the counters."""
    i, j = (tkw.IndexMapping.iterator(n) for n in range(2))
    rows = tkw.IndexMapping(
        num_iterators=2,
        inputs={R: tkw.IndexMapping.dynamic_val(0), N: j},
        outputs={M: i, N: j},
        dynamic_val_mappings={M: i},
    )

    @tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()])
    def kernel(
        a: tkl.Memory[R, N, GLOBAL, tkl.f32],
        table: tkl.Memory[M, GLOBAL, dtype],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        at = (tkw.read(table),)
        tkw.write(tkw.read(a, mapping=rows, mapping_dynamic_vals=at), c)

    options = tkl.WaveCompileOptions(subs=SIZES, target="generic", device=device)
    compiled = wave_compile(options, kernel, session=session)
    rng = np.random.default_rng(0)
    a = rng.standard_normal((SIZES[R], SIZES[N])).astype(np.float32)
    table = rng.integers(0, SIZES[R], SIZES[M]).astype(dtype.numpy())
    c = np.full((SIZES[M], SIZES[N]), np.nan, np.float32)
    compiled(a, table, c)
    return c, a[table], compiled.last_run


@pytest.mark.parametrize("device", ["sim-logical", "sim"])
@pytest.mark.parametrize("dtype", [tkl.i8, tkl.i16, tkl.i32, tkl.i64], ids=str)
def test_addresses_have_bits_enough(session, dtype, device):
    found, wanted, run = gather(session, dtype, device)
    np.testing.assert_array_equal(found, wanted)
    assert run.reports == ()
