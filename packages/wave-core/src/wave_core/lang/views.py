"""Buffers that lie in the bytes of another: ``allocate(parent=, offset=)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.analysis.dependences.storage import lds_bytes, static_bytes
from wave_core.diagnostics import user_error
from wave_core.ir import set_attributes
from wave_core.ops.memory import Allocate
from wave_core.trace.value import Value

if TYPE_CHECKING:
    from wave_core.diagnostics import Location
    from wave_core.trace.tracer import Tracer

ALIGNMENT = 16
"""Bytes that a buffer starts at a multiple of, so that the widest access fits."""


def parent_of(parent: Any, at: Location) -> Allocate:
    """The buffer that a view lies in.

    Raises:
        UserError: WV0420 for what is no buffer, or an offset into nothing.
    """
    if not isinstance(parent, Value) or not isinstance(parent.op, Allocate):
        what = "an offset and no parent" if parent is None else f"the parent {parent!r}"
        raise _no_view(f"`allocate` got {what}", at)
    return parent.op


def offset_in(parent: Allocate, offset: Any, tracer: Tracer, at: Location) -> int:
    """The first byte of a view; its parent gets a place where it has none.

    Raises:
        UserError: WV0420 for an offset that is not known, or not aligned; WV0407 for
            a parent whose size is not known.
    """
    bindings = tracer.graph.bindings
    found = tracer.number(0 if offset is None else offset, at).subs(bindings)
    if not found.is_constant:
        raise _no_view(f"the offset `{found}` is not known at compile time", at)
    start = found.constant_value
    if start < 0 or start % ALIGNMENT:
        raise _no_view(f"the offset {start} is no multiple of {ALIGNMENT} bytes", at)
    if parent.offset is None:
        static_bytes(parent, bindings)
        buffers = (op for op in tracer.graph.walk() if isinstance(op, Allocate))
        end = lds_bytes((op for op in buffers if op.offset is not None), bindings)
        set_attributes(parent, offset=-(-end // ALIGNMENT) * ALIGNMENT)
    assert parent.offset is not None, "it has one now"
    return parent.offset + start


def check_inside(value: Value, parent: Allocate, tracer: Tracer) -> None:
    """Refuse a view that ends beyond its parent.

    Raises:
        UserError: WV0420.
    """
    view = value.op
    assert isinstance(view, Allocate), "it is a buffer"
    assert view.offset is not None, "it is placed"
    assert parent.offset is not None, "it was, for the view"
    bindings = tracer.graph.bindings
    whole = static_bytes(parent, bindings)
    end = view.offset - parent.offset + static_bytes(view, bindings)
    if end > whole:
        raise user_error(
            "WV0420",
            f"a view ends at byte {end} of a buffer of {whole} bytes",
            at=view.location,
            secondary=((parent.location, f"the buffer has {whole} bytes"),),
            help="make the buffer larger, or begin the view earlier",
        )


def _no_view(what: str, at: Location) -> Exception:
    return user_error(
        "WV0420",
        what,
        at=at,
        help="give a buffer of `allocate` as `parent=`, and `offset=` in bytes, a "
        f"multiple of {ALIGNMENT}",
    )
