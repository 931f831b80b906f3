"""``torch.compile(model, backend="wave")``."""

# Torch declares types for no function that takes functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch._decomp import get_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.utils._triton import has_triton

from wave_core.diagnostics import user_error
from wave_torch.graphs.elements import DECOMPOSED
from wave_torch.graphs.placing import KEPT, place, replace_functions
from wave_torch.report import EAGER, INDUCTOR, GraphReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import fx


AUTO = "auto"
"""The rest by whom it suits."""

CAPTURED = "reduce-overhead"
"""The mode whose calls are replays of CUDA graphs."""


@dataclass(frozen=True)
class Options:
    """What `torch.compile` takes as ``options`` for this backend.

    Attributes:
        rest: Who computes what has no kernel: ``eager`` or ``inductor``; ``auto`` is
            ``inductor`` on a GPU for which it can generate code, else ``eager``.
        report: Gets the report of each graph when it is compiled.
    """

    rest: str = AUTO
    report: Callable[[GraphReport], object] = lambda _: None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """From a dictionary.

        Raises:
            UserError: WV0821 for an option that does not exist, WV0823 for a value that
                it cannot have.
        """
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                raise _refused("WV0821", f"has no option `{name}`", known)
        found = cls(**given)
        if found.rest not in (AUTO, EAGER, INDUCTOR):
            what = f"has no `rest` called `{found.rest}`"
            raise _refused("WV0823", what, (AUTO, EAGER, INDUCTOR))
        return found

    def on(self, inputs: Sequence[object]) -> Options:
        """The same, once it is known where the arguments of a graph are."""
        if self.rest != AUTO:
            return self
        devices = {each.device.type for each in inputs if isinstance(each, Tensor)}
        generates = "cuda" in devices and has_triton()
        return replace(self, rest=INDUCTOR if generates else EAGER)


def _refused(code: str, what: str, known: Sequence[str]) -> Exception:
    return user_error(
        code,
        f"the backend `wave` of `torch.compile` {what}",
        help=f"there is {', '.join(known)}",
    )


def compile_graph(
    module: fx.GraphModule,
    inputs: Sequence[Tensor],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Compile a graph of Dynamo: the backend that ``wave`` stands for.

    Functions with a kernel of their own are replaced first. AOTAutograd makes graphs of
    ops of the rest, forward and backward; in these products with what follows them, and
    functions of rows, become kernels. Others run as they are.

    Args:
        module: The graph, which is changed.
        inputs: Examples of its arguments.
        options: As `Options` has them.
        mode: ``reduce-overhead`` captures calls in CUDA graphs, where Inductor takes
            the rest; the other modes of `torch.compile` are Inductor's.

    Raises:
        UserError: WV0821, WV0823 for modes and options that do not exist, or values of
            them.
    """
    if mode not in (None, CAPTURED):
        raise _refused("WV0821", f"has no mode `{mode}`", (CAPTURED, "options={...}"))
    chosen = Options.of(options or {}).on(inputs)
    chosen.report(replace_functions(module))
    finish = _finisher(chosen.rest, captured=mode == CAPTURED)
    compilers = {
        "fw_compiler": _compiler("forward", chosen, finish),
        "bw_compiler": _compiler("backward", chosen, finish),
        "inference_compiler": _compiler("inference", chosen, finish),
    }
    run = aot_autograd(
        **compilers,
        decompositions=_decompositions(chosen.rest),
        keep_inference_input_mutations=True,
        partition_fn=min_cut_rematerialization_partition,
    )
    return run(module, inputs)


def _finisher(rest: str, *, captured: bool) -> Callable[..., Any]:
    """What computes a graph with kernels in it, and ``rest`` what has none."""
    if rest == EAGER:
        return _as_it_is
    from wave_torch.inductor import Generator  # noqa: PLC0415 - slow

    return Generator(captured=captured).compile


def _as_it_is(module: fx.GraphModule, *_: object) -> Callable[..., Any]:
    """What computes a graph as torch does."""
    return make_boxed_func(module.forward)


def _compiler(
    phase: str, chosen: Options, finish: Callable[..., Any]
) -> Callable[..., Any]:
    """What AOTAutograd calls with a graph of ops."""

    def compile_ops(module: fx.GraphModule, inputs: Sequence[Tensor]) -> Any:
        chosen.report(place(module, phase, chosen.rest, _of_inductor(chosen.rest)))
        return finish(module, inputs, phase)

    return compile_ops


def _decompositions(rest: str) -> dict[Any, Any]:
    """What is taken apart; never what is looked for."""
    if rest == EAGER:
        return get_decompositions(DECOMPOSED)
    return {op: how for op, how in _of_inductor(rest).items() if op not in KEPT}


def _of_inductor(rest: str) -> Mapping[Any, Any]:
    """What Inductor takes apart, where it takes the rest."""
    if rest == EAGER:
        return {}
    from wave_torch.inductor import select_decomp_table  # noqa: PLC0415 - slow

    return select_decomp_table()
