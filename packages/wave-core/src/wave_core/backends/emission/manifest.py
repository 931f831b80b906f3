"""The manifest of generated code: what a launch needs to know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from wave_core.backends.emission.symbols import EXTENT_LIMIT
from wave_core.symbols import product
from wave_runtime.artifact import Artifact
from wave_runtime.grid import GridExpression
from wave_runtime.manifest import (
    BindingInfo,
    ConstantInfo,
    Manifest,
    TensorMapInfo,
    digest,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.backends.emission.interface import Binding, BoxedMemory, Constant
    from wave_core.ir import Graph
    from wave_core.symbols import Expr
    from wave_core.targets import Target


class Launchable(Protocol):
    """The interface of generated code."""

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The pointer arguments in order."""
        ...

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The words after them in order."""
        ...

    @property
    def grid(self) -> tuple[Expr, ...]:
        """Workgroups on each axis."""
        ...

    @property
    def devices(self) -> tuple[Expr, ...]:
        """Devices on each axis."""
        ...

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        ...

    @property
    def wave_size(self) -> int:
        """Lanes of a wave."""
        ...


@dataclass(frozen=True)
class MachineCode:
    """Code that a compiler made.

    Attributes:
        symbol: What the kernel is called in it.
        form: One of `wave_runtime.manifest.FORMS`.
        data: The code.
        lds_bytes: LDS of a workgroup.
        versions: What compiled it.
        boxed: Memories that it takes a description of, behind the constants.
    """

    symbol: str
    form: str
    data: bytes
    lds_bytes: int
    versions: Mapping[str, str]
    boxed: tuple[BoxedMemory, ...] = ()


def artifact_of(
    code: Launchable, made: MachineCode, graph: Graph, target: Target
) -> Artifact:
    """The code of a kernel, with its manifest."""
    manifest = Manifest(
        name=made.symbol,
        target=target.name,
        parameters=tuple(argument.label for argument in graph.parameters),
        bindings=tuple(
            BindingInfo(
                row.name, row.dtype, tuple(map(str, row.shape)), row.written, row.limit
            )
            for row in code.bindings
        ),
        constants=tuple(
            ConstantInfo(row.name, row.dtype.name, row.words, row.parameter)
            for row in code.constants
        ),
        grid=_grid(code),
        threads=code.threads,
        wave_size=code.wave_size,
        lds_bytes=made.lds_bytes,
        max_extent=EXTENT_LIMIT,
        code_bytes=len(made.data),
        code_digest=digest(made.data),
        versions=dict(made.versions),
        devices=tuple(map(str, code.devices)),
        form=made.form,
        tensor_maps=tuple(
            TensorMapInfo(row.name, row.box, row.swizzle) for row in made.boxed
        ),
    )
    return Artifact(manifest, made.data)


def _grid(code: Launchable) -> tuple[str, ...]:
    """The grid as text; axes beyond the third share the third of the hardware."""
    first, rest = code.grid[:2], code.grid[2:]
    texts = tuple(map(str, [*first, product(rest)] if rest else first))
    for text in texts:
        GridExpression(text)
    return texts
