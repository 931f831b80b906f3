"""The plugin: a backend for AMD targets of others. Imports nothing expensive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from wave_backend_asm.codes import CODES
from wave_core.backends.lowered import LOWERED_BY_CORE
from wave_core.plugin import BackendSpec, Fact, LoweringSpec, OptionSpec, hookimpl

if TYPE_CHECKING:
    from wave_core.diagnostics import Code

REQUIRES_API = (1, 9)

FAMILIES = (
    *(
        f"wave_core.backends.emission.rules.{name}"
        for name in (
            *("arithmetic", "compare", "constants", "control", "random", "shape"),
        )
    ),
    *(
        f"wave_backend_asm.codegen.rules.{name}"
        for name in (
            "atomic",
            "butterflies",
            "control",
            "direct",
            "matrix",
            "memory",
            "shuffles",
            "sync",
        )
    ),
)
"""The modules of rules: core's, which every machine has, and our own."""

UNSUPPORTED = dict.fromkeys(("shared_tile", "breakpoint"), "not selected yet")
"""Ops of core without a rule, by name, with the reason."""

TARGETS = frozenset({"gfx90a", "gfx942", "gfx950"})
"""Chips whose instructions, registers and hazards the tables know."""


@hookimpl
def wave_register_lowerings() -> Iterable[LoweringSpec]:
    """The rules, family by family."""
    first, *others = FAMILIES
    yield LoweringSpec("asm", first, {**LOWERED_BY_CORE, **UNSUPPORTED})
    for family in others:
        yield LoweringSpec("asm", family)


@hookimpl
def wave_register_backends() -> Iterable[BackendSpec]:
    """The code generator."""
    yield BackendSpec(
        "asm",
        "wave_backend_asm.backend:AsmBackend",
        targets=TARGETS,
        forms=("asm", "hsaco", "metrics"),
        requires=frozenset(
            {Fact.TYPED, Fact.INDEXED, Fact.EXPANDED, Fact.BOUNDED, Fact.SYNCHRONIZED}
        ),
        summary="AMD GPUs, with no other compiler between",
        artifact="hsaco",
        overrides=("override_asm",),
    )


@hookimpl
def wave_register_options() -> Iterable[OptionSpec]:
    """The option of this path alone; it changes no pipeline."""
    yield OptionSpec(
        "override_asm",
        str | None,
        None,
        "wave-backend-asm",
        "assembly of AMD GPUs in place of our own, for `backend='asm'`",
    )


@hookimpl
def wave_register_diagnostics() -> Iterable[Code]:
    """Refusals that only this package makes."""
    return CODES
