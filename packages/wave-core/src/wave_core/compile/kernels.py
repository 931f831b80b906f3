"""A kernel with all that it takes to run and check it: `KernelCase`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from wave_core.compile.launchable import LaunchableWave
from wave_core.diagnostics import user_error
from wave_core.passes.options import did_you_mean

if TYPE_CHECKING:
    import numpy as np

    from wave_core.compile.options import WaveCompileOptions


OPEN = "auto"
"""The setting of a symbol that a case leaves to the preset."""


@dataclass(frozen=True, kw_only=True)
class KernelCase:
    """A kernel at one shape, with arguments to run it on and what they should give.

    Attributes:
        kernel: What the ``wave`` decorator makes.
        options: How to compile it: values of its symbols, its target.
        shape: The sizes that ``--shape`` sets, defaults put in.
        settings: The settings that ``--set`` sets, defaults put in: tile sizes.
        make_arguments: Fresh arguments from a random generator, outputs allocated.
        reference: From the arguments as they were before the launch to what each
            output should hold, in the order of ``outputs``, computed in f64.
        outputs: Positions of the outputs among the arguments.
        tolerance: Largest error allowed, in units of ``scale``.
        scale: From the arguments to the size of a result that errors are measured
            against, such as ``max(abs(A) abs(B))``; by default the largest expected
            value.
        flops: Floating-point operations that the result takes, however it is computed;
            0 where bytes are what counts.
        peers: What else computes the same, by name, for `wave bench`: from the
            arguments as tensors of torch on a GPU.
        others: Other kernels that compute the same, with arguments of their own; a
            preset that chooses takes one of them where it is faster by its estimate.
    """

    kernel: LaunchableWave
    options: WaveCompileOptions
    shape: Mapping[str, int]
    make_arguments: Callable[[np.random.Generator], Sequence[Any]]
    reference: Callable[[Sequence[Any]], Sequence[Any]]
    outputs: tuple[int, ...]
    tolerance: float
    settings: Mapping[str, int | str] = field(default_factory=dict[str, int | str])
    scale: Callable[[Sequence[Any]], float] | None = None
    flops: float = 0.0
    peers: Mapping[str, Callable[[Sequence[Any]], object]] = field(
        default_factory=dict[str, Callable[[Sequence[Any]], object]]
    )
    others: tuple[KernelCase, ...] = ()


class KernelFactory(Protocol):
    """The form of kernels that plugins register and ``wave run FILE.py:NAME`` takes.

    Sizes and settings that are not given take defaults, all of them if need be.
    """

    def __call__(
        self,
        shape: Mapping[str, int],
        settings: Mapping[str, int | str],
        target: str,
    ) -> KernelCase:
        """The kernel for these sizes and settings."""
        ...


def make_case(
    factory: object,
    name: str,
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    target: str,
) -> KernelCase:
    """The case that ``factory`` makes.

    Raises:
        UserError: WV0801 for a size or setting that the kernel does not have,
            WV0823 for a setting that is no number, WV0826 where the factory is no
            factory.
    """
    default = _made(factory, name, {}, {}, target)
    _check_names("size", name, shape, default.shape)
    _check_names("setting", name, settings, default.settings)
    for key, value in settings.items():
        usual = default.settings[key]
        plain = isinstance(value, int) or value == usual
        if not plain and (isinstance(usual, int) or usual == OPEN):
            raise user_error(
                "WV0823",
                f"setting `{key}` of kernel `{name}` is `{value}`",
                help=f"it takes an integer, by default {usual}",
            )
    given = bool(shape) or bool(settings)
    return _made(factory, name, shape, settings, target) if given else default


def _made(
    factory: object,
    name: str,
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    target: str,
) -> KernelCase:
    if isinstance(factory, LaunchableWave):
        raise _no_case(name, "a kernel without sizes, arguments and a reference")
    case = factory(shape, settings, target) if callable(factory) else factory
    if isinstance(case, KernelCase):
        return case
    raise _no_case(name, f"a {type(factory).__name__} that makes no KernelCase")


def _no_case(name: str, what: str) -> Exception:
    return user_error(
        "WV0826",
        f"`{name}` is {what}",
        help="name a function (shape, settings, target) -> KernelCase",
    )


def _check_names(
    what: str, kernel: str, given: Mapping[str, object], known: Mapping[str, object]
) -> None:
    for name in given:
        if name not in known:
            listed = ", ".join(f"`{each}`" for each in known) or "none"
            raise user_error(
                "WV0801",
                f"kernel `{kernel}` has no {what} `{name}`",
                help=(*did_you_mean(name, known), f"it has: {listed}"),
            )
