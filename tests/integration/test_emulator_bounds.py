"""Accesses through a mapping that leave a row but not the memory: who sees them.

The address is one of a neighbour, which machine code reads without a sign of it. The
emulator runs a build with probes beside the code, and reports what the simulator does.
"""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
from wave_backend_amdgpu.codegen.options import CodeOptions
from wave_backend_amdgpu.compile.backend import Settings, compile_probed, mlir_of
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import SimulationError

M, N, BLOCK = tkl.sym.M, tkl.sym.N, tkl.sym.BLOCK
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
ROWS, COLUMNS = 4, 100
DEVICES = ("sim", "emulator")
i, j = (tkl.IndexMapping.iterator(k) for k in range(2))
HERE = {M: i, N: j}
CONSTRAINTS = [
    tkl.WorkgroupConstraint(M, 1, 1),
    tkl.WorkgroupConstraint(N, BLOCK, 0),
    tkl.WaveConstraint(N, BLOCK),
    tkl.HardwareConstraint(vector_shapes={M: 1}),
]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def shifted_read(column):
    """Copies, each element from ``column`` of its row."""
    mapping = tkl.IndexMapping(2, inputs={M: i, N: column}, outputs=HERE)

    @tkl.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        tkl.write(tkl.read(a, mapping=mapping), b)

    return kernel


def shifted_write(column):
    """Copies, each element to ``column`` of its row."""
    mapping = tkl.IndexMapping(2, inputs=HERE, outputs={M: i, N: column})

    @tkl.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        tkl.write(tkl.read(a), b, mapping=mapping)

    return kernel


def gather():
    """Copies, each element from the column that a table names."""
    place = tkl.IndexMapping.dynamic_val(0)
    mapping = tkl.IndexMapping(
        2, inputs={M: i, N: place}, outputs=HERE, dynamic_val_mappings=HERE
    )

    @tkl.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        table: tkl.Memory[M, N, GLOBAL, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        columns = tkl.read(table)
        found = tkl.read(a, mapping=mapping, mapping_dynamic_vals=(columns,))
        tkl.write(found, b)

    return kernel


def compiled(session, kernel, device, target="gfx942"):
    options = tkl.WaveCompileOptions(
        subs={M: ROWS, N: COLUMNS, BLOCK: 128}, device=device, target=target
    )
    return wave_compile(options, kernel, session=session)


def given():
    a = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    return a, np.full_like(a, -1)


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("kernel", "access"),
    [
        (shifted_read(j + 1), "`read`"),
        (shifted_read(j - 1), "`read`"),
        (shifted_write(j + 1), "`write`"),
    ],
)
def test_a_mapping_that_leaves_the_row_is_reported(
    session, device, target, kernel, access
):
    with pytest.raises(SimulationError) as raised:
        compiled(session, kernel, device, target)(*given())
    (report,) = raised.value.diagnostics
    assert report.code == "WV0903"
    assert access in report.message


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("stray", [None, -1, COLUMNS])
def test_an_index_that_leaves_the_row_is_reported(session, device, stray):
    """The neighbours of row 1 are inside the memory."""
    rng = np.random.default_rng(9)
    a, b = given()
    table = rng.integers(0, COLUMNS, a.shape, dtype=np.int32)
    kernel = compiled(session, gather(), device)
    if stray is None:
        kernel(a, table, b)
        assert np.array_equal(b, np.take_along_axis(a, table, axis=1))
        return
    table[1, 7] = stray
    with pytest.raises(SimulationError) as raised:
        kernel(a, table, b)
    assert [row.code for row in raised.value.diagnostics] == ["WV0903"]


def test_probes_keep_no_writes(session):
    """What a kernel does in place is done once."""

    @tkl.wave(CONSTRAINTS)
    def kernel(
        table: tkl.Memory[M, N, GLOBAL, tkl.i32], a: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        place = tkl.IndexMapping.dynamic_val(0)
        mapping = tkl.IndexMapping(
            2, inputs=HERE, outputs={M: i, N: place}, dynamic_val_mappings=HERE
        )
        more = tkl.read(a) + 1.0
        columns = tkl.read(table)
        tkl.write(more, a, mapping=mapping, mapping_dynamic_vals=(columns,))

    a, _ = given()
    table = np.broadcast_to(np.arange(COLUMNS, dtype=np.int32), a.shape).copy()
    want = a + 1
    compiled(session, kernel, "emulator")(table, a)
    assert np.array_equal(a, want)


def test_only_what_is_not_proved_is_probed(session):
    """A mapping that is proved to stay inside needs no second build."""
    known = ((COLUMNS - 1 - j, None), (j, None), (j + 1, ("`read` of `a`",)))
    for column, probes in known:
        found = compiled(session, shifted_read(column), "sim")
        graph, target = found.graph, found.compiled.target
        made = compile_probed(graph, target, Settings())
        assert (made and made.probes) == probes
        code, text = mlir_of(graph, target, Settings(code=CodeOptions()))
        assert code.probes == ()
        assert "volatile" not in text


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_three_words_for_all_lanes(session, target):
    """LLVM loads the scales as four words, of which the buffer has three."""
    rows = [
        tkl.WorkgroupConstraint(M, 4, 0),
        tkl.WorkgroupConstraint(N, 256, 1),
        tkl.HardwareConstraint(),
    ]

    @tkl.wave(rows)
    def scaled(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        scales: tkl.Memory[M, GLOBAL, tkl.f32],
        b: tkl.Memory[N, GLOBAL, tkl.f32],
    ):
        tkl.write(tkl.sum(tkl.read(a) * tkl.read(scales), dim=M), b)

    options = tkl.WaveCompileOptions(
        subs={M: 3, N: 1}, target=target, device="emulator"
    )
    # Sums of small integers are exact.
    a, scales = np.float32([[1], [2], [3]]), np.float32([4, 5, 6])
    b = np.zeros(1, np.float32)
    wave_compile(options, scaled, session=session)(a, scales, b)
    assert b == 32
