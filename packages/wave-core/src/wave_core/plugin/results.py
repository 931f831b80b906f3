"""Results of registration hooks, each a frozen dataclass.

Whatever is expensive to import is named as ``"module:name"`` or as a module, and
loaded when it is first used. `PassSpec`, `Preset`, `Amendment` and `ExecutorSpec`
belong here too and are declared beside what they describe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ir.graph import Graph
    from wave_core.symbols import Expr
    from wave_core.targets import Target


@dataclass(frozen=True)
class _NamedObject:
    """An object with a name of its own.

    Attributes:
        name: What users write.
        target: ``"module:name"`` of the object.
        summary: One line for listings.
    """

    name: str
    target: str
    summary: str = ""


class TargetSpec(_NamedObject):
    """A machine to compile for, such as ``gfx942``: a `Target` or what makes it."""


class KernelSpec(_NamedObject):
    """A kernel that ``wave run NAME`` knows; imported when it is run."""


class CommandSpec(_NamedObject):
    """A subcommand of ``wave``: a function or a typer application."""


class DisplaySpec(_NamedObject):
    """What a notebook shows of a compiled kernel, below its facts.

    A function from a ``WaveKernel`` to a text of HTML. It is called when a kernel is
    the value of a cell, so it is quick, and it runs nothing.
    """


class CheckSpec(_NamedObject):
    """Something that ``wave doctor`` looks for, such as a tool that a backend runs.

    A function without arguments that gives a pair of texts: ``ok``, ``missing`` or
    ``broken``, and what was found.
    """


class StrategySpec(_NamedObject):
    """A way to schedule loops, such as ``prefetch``, for the pass that schedules them.

    The package of that pass says what the object is.
    """


@dataclass(frozen=True)
class ChooserSpec(_NamedObject):
    """A preset that chooses for each kernel, such as ``auto``.

    A function from a `ChoiceRequest` to `Choice` objects, the best first.

    Attributes:
        before: The preset before whose own chooser this one is asked, too: it knows
            some kernels better, such as from measurements.
    """

    before: str = ""


@dataclass(frozen=True)
class ChoiceRequest:
    """What a chooser chooses for.

    Attributes:
        target: The machine.
        options: How the author asks to compile the kernel, where that is not the
            default; what stands here is not to be changed.
        values: Each way to settle the symbols that the author leaves open, the usual
            one first; a single empty one where none is open.
        presets: The presets that are installed.
        passes: The passes that are installed.
        graph: The kernel as it is traced with such values.
        geometry: How the kernel spreads over the machine with such values; raises a
            `UserError` where they contradict each other.
        versions: Those of the plugins that make code, by distribution.
        announce: Tells the user something, once a session for each topic: the topic,
            and what is told.
    """

    target: Target
    options: Mapping[str, object]
    values: Sequence[Mapping[Expr, object]]
    presets: frozenset[str]
    passes: frozenset[str]
    graph: Callable[[Mapping[Expr, object]], Graph]
    geometry: Callable[[Mapping[Expr, object]], Geometry]
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    announce: Callable[[str, str], None] = lambda _topic, _told: None


@dataclass(frozen=True)
class Choice:
    """One way to compile a kernel.

    Attributes:
        subs: Values of open symbols.
        options: Options of compilation by name, a preset among them.
        figures: What the estimate rests on, by title with its unit.
        refused: Why it is no way to compile the kernel; empty where it is one.
    """

    subs: Mapping[Expr, object] = field(default_factory=dict["Expr", object])
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    figures: Mapping[str, float] = field(default_factory=dict[str, float])
    refused: str = ""


@dataclass(frozen=True)
class _Classes:
    """Classes that are loaded together.

    Attributes:
        target: ``"module:name"`` of a tuple of classes, of a function that returns
            one, or of a single class.
        summary: One line for ``wave plugins``.
    """

    target: str
    summary: str = ""

    @property
    def name(self) -> str:
        """The key: where the classes are."""
        return self.target


class OpSet(_Classes):
    """A group of op classes."""


class ConstraintSet(_Classes):
    """Subclasses of `Constraint`; each says in ``stands_for`` what it means."""


@dataclass(frozen=True)
class ModulePassSpec:
    """A pass on the modules that a backend emits, such as MLIR.

    Attributes:
        name: Its name; passes run in the order of their names.
        backend: Whose modules it takes: ``amdgpu``.
        target: ``"module:function"``, which the backend calls in the process that
            compiles. What it is given, the backend says.
        options: What the function is told, as JSON values; part of the cache key.
        summary: One line for ``wave pipeline``.
    """

    name: str
    backend: str
    target: str
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    summary: str = ""


@dataclass(frozen=True)
class LoweringSpec:
    """Lowering rules for a backend, which may be another plugin's.

    Attributes:
        backend: Whose rules they are: ``sim``, ``amdgpu``.
        module: The module with functions marked by ``@lowers``.
        unsupported: Ops that are not lowered, and why, by name of the op.
    """

    backend: str
    module: str
    unsupported: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    @property
    def name(self) -> str:
        """The key: backend and module."""
        return f"{self.backend}:{self.module}"


@dataclass(frozen=True)
class TileRules:
    """Rules for laying out ops over lanes, and for cutting them into pieces.

    Attributes:
        module: The module with functions marked by ``@supplies``, ``@demands`` and
            ``@expands`` of `wave_core.plugin.tiles`, which says what they are given.
        summary: One line for ``wave plugins``.
    """

    module: str
    summary: str = ""

    @property
    def name(self) -> str:
        """The key: where the rules are."""
        return self.module


@dataclass(frozen=True)
class ViewSpec:
    """A view of a compiled kernel, for ``wave inspect KERNEL --what NAME``.

    Attributes:
        name: The name.
        target: ``"module:name"`` of a function from a `ViewRequest` to a `ViewResult`.
        form: What it looks at: a form that a backend emits, such as ``hsaco``; empty
            for the compiled kernel, which needs no backend.
        summary: One line for listings.
        options: Options of plugins to compile with, where a plugin declares them.
    """

    name: str
    target: str
    form: str = ""
    summary: str = ""
    options: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)


@dataclass(frozen=True)
class ViewRequest:
    """The kernel that a view looks at.

    Attributes:
        kernel: The name of the kernel.
        target: The name of the machine.
        files: What the backend emitted, by name of the file.
        shape: The sizes of the case.
        make_arguments: Fresh arguments to run the kernel on, the same each time.
        compiled: The compiled kernel, a ``WaveKernel``; for views without a form.
    """

    kernel: str
    target: str
    files: Mapping[str, bytes]
    shape: Mapping[str, int]
    make_arguments: Callable[[], Sequence[Any]]
    compiled: Any = None


@dataclass(frozen=True)
class ViewResult:
    """The tables that a view shows, and all of it as JSON.

    Attributes:
        document: For ``--json``: JSON values.
        tables: For the terminal: titles of columns, and rows.
    """

    document: Mapping[str, object]
    tables: Sequence[tuple[tuple[str, ...], Sequence[tuple[str, ...]]]]


class ViewError(Exception):
    """A view cannot be computed; shown as WV0829."""

    def __init__(self, message: str, *, help: str = "") -> None:  # noqa: A002 - printed so
        super().__init__(message)
        self.help = help


@dataclass(frozen=True)
class OptionSpec:
    """An option of compilation that no pass has, such as one of a backend.

    An option of a pass is a field of the pass, and needs no other declaration.

    Attributes:
        name: The keyword.
        type: The type of its values; anything that options of passes may have.
        default: The value that changes nothing.
        package: The distribution that gives the option its meaning.
        help: One line.
        at_least: The smallest number that means something.
    """

    name: str
    type: Any
    default: object
    package: str
    help: str
    at_least: int | None = None


@dataclass(frozen=True)
class PipelineRequest:
    """For what a pipeline is about to be put together.

    Attributes:
        target: The name of the target.
        kernel: The name of the kernel; empty where there is none yet.
        preset: The name of the preset; empty where there is none.
        passes: The names of all installed passes.
    """

    target: str
    kernel: str = ""
    preset: str = ""
    passes: tuple[str, ...] = ()
