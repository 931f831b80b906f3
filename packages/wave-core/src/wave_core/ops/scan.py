"""Ops that go along one dimension of a tile: scans and sorts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, region, variadic
from wave_core.ops.constant import check_constant

if TYPE_CHECKING:
    from wave_core.ir.graph import Region
    from wave_core.symbols import Expr


class Along(Op):
    """An op whose body takes two elements that lie along ``dim``.

    Shapes and dtypes: all sources have the same dims, and so do the results; each
    result has the type of its source. Raises: WV0208, WV0209, WV0214.
    """

    sources: tuple[Op, ...] = variadic(help="registers of the same dims")
    captures: tuple[Op, ...] = variadic(help="outer values that the body uses")
    dim: Expr = attribute(help="the dimension to go along")
    identity: tuple[float, ...] = attribute(
        default=(), help="for each source a number that stands for no element"
    )
    body: Region = region(help="what becomes of two elements")  # pyright: ignore[reportGeneralTypeIssues] - given by keyword

    def infer(self) -> None:
        """No value of its own."""
        for source in self.sources:
            rules.register_type(self, source, "source")
        first, *others = self.sources
        shape = first.register_type.shape
        for source in others:
            rules.require_same_dims(self, source, shape, "every source")
        for source, number in zip(self.sources, self.identity, strict=False):
            check_constant(self, number, source.register_type.dtype)
        if self.dim not in shape:
            raise user_error(
                "WV0214",
                f"`{self.op_name}` along `{self.dim}` of a register with dims "
                f"{rules.dims_text(shape)}",
                at=self.location,
                label=f"goes along `{self.dim}`",
                secondary=((first.location, f"this has {first.type}"),),
                help="`dim=` names one of the register's dims",
            )


class Scan(Along, name="scan"):
    """Each element combined with all that come before it along ``dim``.

    The body takes one element of each source and the element after it, and yields
    what stands for both; it is associative. Elements are combined in the order of
    their indices, against it with ``reverse``. The results (``get_result``) include
    the element itself; with ``exclusive`` they do not, and the first is
    ``identity``, which changes nothing. Elements at or beyond the extent of ``dim``
    take no part. The scan is over the tile of the workgroup: waves that share ``dim``
    go on from one another. Shapes, dtypes and errors: those of the base.
    """

    reverse: bool = attribute(default=False, help="from the last element to the first")
    exclusive: bool = attribute(default=False, help="leave the element itself out")


class Sort(Along, name="sort"):
    """The elements along ``dim`` in the order that the body puts any two in.

    The body takes one element of each source and another one, and yields that which
    comes first and then the other, whichever way they are given; no two elements are
    the same. ``identity`` comes after all elements. One wave holds all of ``dim``.
    Shapes, dtypes and errors: those of the base.
    """
