"""Lowering rules of a backend: which function lowers which op."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    runtime_checkable,
)

from wave_core.diagnostics import plugin_error, user_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from wave_core.ops.base import Op

P = ParamSpec("P")
R = TypeVar("R")

LOWERING = "lowering"
"""The role of a rule that makes code, or a step of a simulator."""


@dataclass(frozen=True)
class Lowering(Generic[P, R]):
    """One rule, made by `lowers`; calling it calls the function.

    Attributes:
        ops: The op classes that it lowers, with their subclasses.
        function: Does the lowering; what it takes is between it and the backend.
        when: Says whether the rule fits an op; ``None`` is always.
        benefit: The rule of the highest benefit is taken.
        role: For what it is a rule, where a module holds several kinds.
        blamed: What goes wrong inside of it for an op is the error of the plugin that
            the rule is from; ``None`` where the faults of a rule are the backend's.
    """

    ops: tuple[type[Op], ...]
    function: Callable[P, R]
    when: Callable[[Op], bool] | None = None
    benefit: int = 1
    role: str = LOWERING
    blamed: Callable[[Op], AbstractContextManager[None]] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        return self.function(*args, **kwargs)

    def fits(self, op: Op) -> bool:
        """Whether the rule lowers ``op``, whose class it is for."""
        return self.when is None or self.when(op)

    @property
    def name(self) -> str:
        """Where the function is, for messages."""
        return f"{self.function.__module__}.{self.function.__qualname__}"


def lowers(
    *ops: type[Op],
    when: Callable[[Op], bool] | None = None,
    benefit: int = 1,
    role: str = LOWERING,
) -> Callable[[Callable[P, R]], Lowering[P, R]]:
    """Make a rule of a function; nothing is registered by that.

    Example::

        @lowers(Mma, when=fits_the_matrix_unit, benefit=2)
        def lower_mma(op, emit): ...
    """

    def make(function: Callable[P, R]) -> Lowering[P, R]:
        return Lowering(ops, function, when, benefit, role)

    return make


AnyLowering = Lowering[..., object]
"""A rule of any backend."""


@runtime_checkable
class ChecksRules(Protocol):
    """An object that rules get beside the op, and that each of them owes something.

    A backend's object that says so has the rules of other plugins checked.
    """

    def fault_of(self, op: Op, found: object) -> str:
        """The fault, now that a rule for ``op`` has given ``found``; or empty."""
        ...


@dataclass(frozen=True)
class ModulePass:
    """A pass of a plugin on the modules that a backend emits.

    Attributes:
        name: The name of the pass.
        plugin: Whose it is, with its version.
        target: ``"module:function"``, imported where modules are compiled.
        options: What the function is told.
    """

    name: str
    plugin: str
    target: str
    options: Mapping[str, object]


@dataclass(frozen=True)
class LoweringTable:
    """The rules of one backend.

    Attributes:
        backend: Its name.
        rules: The rules by op class, in a stable order.
        unsupported: Why ops are not lowered, by name of the op.
        module_passes: What plugins do with what the backend emits, in order.
    """

    backend: str
    rules: Mapping[type[Op], tuple[AnyLowering, ...]]
    unsupported: Mapping[str, str]
    module_passes: tuple[ModulePass, ...] = ()

    @classmethod
    def of(
        cls,
        backend: str,
        rules: Iterable[AnyLowering],
        unsupported: Mapping[str, str] | None = None,
        module_passes: tuple[ModulePass, ...] = (),
    ) -> Self:
        """Index ``rules`` by op class; their order does not matter."""
        table: dict[type[Op], list[AnyLowering]] = defaultdict(list)
        for rule in sorted(rules, key=lambda rule: (-rule.benefit, rule.name)):
            for op_class in rule.ops:
                table[op_class].append(rule)
        frozen = {op_class: tuple(found) for op_class, found in table.items()}
        return cls(backend, frozen, dict(unsupported or {}), module_passes)

    def select(self, op: Op) -> AnyLowering:
        """The rule for ``op``: of its nearest class with one that fits, the best.

        Raises:
            UserError: WV0601 where no rule fits.
            PluginError: WV0815 where two rules of equal benefit fit.
        """
        rule = self.find(op)
        if rule is None:
            raise self._missing(op)
        return rule

    def find(self, op: Op) -> AnyLowering | None:
        """As `select`, but ``None`` where no rule fits."""
        for op_class in type(op).__mro__:
            rule = self.fitting(op_class, op)
            if rule is not None:
                return rule
        return None

    def fitting(self, op_class: type[Op], op: Op) -> AnyLowering | None:
        """The best rule for ``op`` of those for ``op_class``, one of its classes.

        Raises:
            PluginError: WV0815 where two rules of equal benefit fit.
        """
        fitting = [rule for rule in self.rules.get(op_class, ()) if rule.fits(op)]
        if len(fitting) > 1 and fitting[0].benefit == fitting[1].benefit:
            raise self._tie(op, fitting[0], fitting[1])
        return fitting[0] if fitting else None

    def _tie(self, op: Op, one: AnyLowering, other: AnyLowering) -> Exception:
        return plugin_error(
            "WV0815",
            f"two rules lower `{op.op_name}` for {self.backend} equally well",
            at=op.location,
            notes=(one.name, other.name, f"both have benefit {one.benefit}"),
            help="raise the benefit of one, or narrow its `when`",
        )

    def _missing(self, op: Op) -> Exception:
        reason = self.unsupported.get(op.op_name)
        return user_error(
            "WV0601",
            f"{self.backend} cannot lower `{op.op_name}`",
            at=op.location,
            notes=() if reason is None else reason,
            help="another device may run it: `wave plugins` lists them",
        )


def rules_of(module: object) -> tuple[AnyLowering, ...]:
    """The rules that ``module`` defines and does not import, in order of name."""
    space = vars(module)
    rules: list[AnyLowering] = [
        each for _, each in sorted(space.items()) if isinstance(each, Lowering)
    ]
    return tuple(r for r in rules if r.function.__module__ == space["__name__"])
