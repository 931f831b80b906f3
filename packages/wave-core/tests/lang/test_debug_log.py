"""What `debug_log` refuses; values are tested where simulators are."""

from __future__ import annotations

import pytest

import wave_core.lang as tkw
from wave_core.compile import Session, WaveCompileOptions
from wave_core.compile.front import front_of
from wave_core.diagnostics import UserError

M, N, K = tkw.sym.M, tkw.sym.N, tkw.sym.K
Matrix = tkw.Memory[M, N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]
CONSTRAINTS = [
    tkw.WorkgroupConstraint(M, 4, 0),
    tkw.TilingConstraint(N, 16),
    tkw.HardwareConstraint(threads_per_wave=64),
]


def refused(body, **subs):
    """The rendering of the error for a kernel of two matrices."""

    @tkw.wave(CONSTRAINTS)
    def kernel(a: Matrix, b: Matrix):
        body(a)

    options = WaveCompileOptions(subs={M: 8, N: 32, **subs})
    with pytest.raises(UserError) as caught:
        front_of(options, kernel, Session(entry_points=()))
    lines = str(caught.value).splitlines()
    places = ("-->", "= called from")
    return "\n".join(line for line in lines if not any(p in line for p in places))


def numbered(text):
    """The text with line numbers and margins taken off."""
    rows = [row.lstrip("0123456789. ") for row in text.splitlines()]
    return "\n".join(row.rstrip() for row in rows)


def test_no_such_loop():
    def body(a):
        @tkw.iterate(N)
        def each():
            tkw.debug_log(tkw.read(a), extra_iteration_dimensions=[K])

    assert numbered(refused(body)) == numbered(
        """\
error[WV0170]: `extra_iteration_dimensions` of `debug_log`: no loop over `K` is around
   |         @tkw.iterate(N)
   |          -------------- a loop over `N`
   |         def each():
   |             tkw.debug_log(tkw.read(a), extra_iteration_dimensions=[K])
   |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ logged here
   = help: name loops over dimensions that are around: `[K]`, or `[(NAME, K)]`"""
    )


def test_one_loop_is_one_dimension():
    def body(a):
        @tkw.iterate(N)
        def each():
            tkw.debug_log(tkw.read(a), extra_iteration_dimensions=[N, N])

    assert "no loop over `N` is around" in refused(body)


def test_iterations_of_a_while_loop():
    def body(a):
        @tkw.iterate(N, start=tkw.scalar(0, tkw.i32), condition=N < 2)
        def each():
            tkw.debug_log(tkw.read(a), extra_iteration_dimensions=[("STEP", N)])
            tkw.set_symbol(N, N + 1)

    assert "iterations of a while loop have no number" in refused(body)


def test_one_label_for_two():
    def body(a):
        x = tkw.read(a)
        tkw.debug_log(x, label="tile")
        tkw.debug_log(x, label="tile")

    assert numbered(refused(body)) == numbered(
        """\
error[WV0171]: two logs of the kernel are called `tile`
   |         tkw.debug_log(x, label="tile")
   |         ------------------------------ and here
   |         tkw.debug_log(x, label="tile")
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ taken here
   = help: give each its own: `label=f"acc{i}"` in a loop of Python"""
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"label": 3}, "`label` is 3"),
        ({"printer": "yes"}, "`printer` of `debug_log` is 'yes', which cannot be"),
        ({"handler": 1}, "`handler` of `debug_log` is 1, which cannot be called"),
    ],
)
def test_labels_and_functions(given, message):
    text = refused(lambda a: tkw.debug_log(tkw.read(a), **given))
    assert text.startswith(f"error[WV0171]: {message}")


def test_a_memory():
    text = refused(tkw.debug_log)
    assert text.startswith(
        "error[WV0201]: `debug_log` shows a register and got a memory"
    )
    assert text.endswith("= help: read it first: `debug_log(read(memory))`")


@pytest.mark.parametrize("given", [3.0, None, "acc"])
def test_no_value(given):
    assert refused(lambda _: tkw.debug_log(given)).startswith("error[WV0105]")


def test_a_mapping_that_is_none():
    text = refused(lambda a: tkw.debug_log(tkw.read(a), mapping={M: 0}))
    assert text.startswith("error[WV0403]")
