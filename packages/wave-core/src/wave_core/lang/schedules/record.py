"""Takes down what a schedule function asks for."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from wave_core.diagnostics import capture_location, user_error
from wave_core.ops import sync
from wave_core.ops.base import Op
from wave_core.passes.manual import Ref, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wave_core.diagnostics import Location
    from wave_core.passes.manual import Carrier, Plain


class NodesAreCounted(BaseException):
    """A schedule asks how many nodes there are, which only a kernel can tell.

    No error, and passed on by what catches those.
    """


class Recorder:
    """The steps of the schedule that is being recorded, or carried out on a kernel."""

    def __init__(self, carrier: Carrier | None = None) -> None:
        self._carrier = carrier
        self.steps: list[Step] = []
        self.open: dict[int, Location] = {}
        """Pipelines that no ``with`` has closed yet, and where they were made."""

    def add(self, name: str, *arguments: Plain, at: Location | None = None) -> Ref:
        """Append a step of the line that is running."""
        place = capture_location() if at is None else at
        self.steps.append(Step(name, arguments, place))
        if self._carrier is not None:
            self._carrier.carry_out(self.steps[-1])
        return Ref(len(self.steps) - 1)

    def count(self, ref: Ref) -> int:
        """How many nodes a step has found.

        Raises:
            NodesAreCounted: where no kernel is there yet.
        """
        if self._carrier is None:
            raise NodesAreCounted
        return self._carrier.count(ref)


_ACTIVE: ContextVar[Recorder | None] = ContextVar("wave_schedule", default=None)


def activate(recorder: Recorder) -> Callable[[], None]:
    """Record into ``recorder``; call the result to stop."""
    token = _ACTIVE.set(recorder)
    return lambda: _ACTIVE.reset(token)


def recorder(what: str) -> Recorder:
    """The recorder of the schedule that is running.

    Raises:
        UserError: WV0511 outside a schedule; ``what`` is the function that was called.
    """
    found = _ACTIVE.get()
    if found is None:
        raise user_error(
            "WV0511",
            f"`{what}` is used outside a schedule",
            at=capture_location(),
            label="no schedule is being recorded here",
            help="call it in a function decorated with `wave_schedule()`",
        )
    return found


class Recorded:
    """The result of a step of a schedule."""

    __slots__ = ("ref",)

    def __init__(self, ref: Ref) -> None:
        self.ref = ref


class Nodes(Recorded):
    """Ops of a kernel that is not known yet: what a step of a schedule finds.

    ``nodes[0]``, ``nodes[1:]`` and ``nodes + others`` give nodes again. How many there
    are depends on the kernel: a schedule that counts them, or walks through them, is
    run again for each kernel.
    """

    __slots__ = ()

    def __getitem__(self, item: Any) -> Nodes:
        """Some of the nodes, counted as in a list."""
        is_slice = type(item) is slice
        rows: list[Any] = [item.start, item.stop, item.step] if is_slice else [item]
        if any(type(row) is not int for row in rows if row is not None or row is item):
            raise wrong_argument("a list of nodes", item, "an integer or a slice")
        place: Plain = rows[0] if len(rows) == 1 else tuple(rows)
        return Nodes(recorder("nodes[...]").add("picked", self.ref, place))

    def __add__(self, other: object) -> Nodes:
        """These nodes, then others."""
        refs = refs_of("+", [self, other])
        return Nodes(recorder("+").add("joined", refs))

    def __radd__(self, other: object) -> Nodes:
        """Others, then these nodes."""
        refs = refs_of("+", [other, self])
        return Nodes(recorder("+").add("joined", refs))

    def __len__(self) -> int:
        """How many there are in the kernel."""
        return recorder("len").count(self.ref)

    def __iter__(self) -> Iterator[Nodes]:
        """Each node, as a list of one."""
        return (self[position] for position in range(len(self)))


def nodes_ref(what: str, given: object) -> Ref:
    """The step behind nodes.

    Raises:
        UserError: WV0511 for anything else.
    """
    if not isinstance(given, Nodes):
        raise wrong_argument(what, given, "nodes, as `get_node_by_tag` gives them")
    return given.ref


def refs_of(what: str, given: object) -> tuple[Ref, ...]:
    """The steps behind nodes, or behind lists of nodes, in order.

    Raises:
        UserError: WV0511 for anything else.
    """
    return tuple(_flat(what, given))


def _flat(what: str, given: object) -> Iterable[Ref]:
    if isinstance(given, Nodes):
        yield given.ref
    elif isinstance(given, (list, tuple)):
        for item in given:  # pyright: ignore[reportUnknownVariableType] - checked here
            yield from _flat(what, item)  # pyright: ignore[reportUnknownArgumentType] - checked here
    else:
        raise wrong_argument(what, given, "nodes, or lists of nodes")


def op_plain(what: str, given: object) -> Plain:
    """An op to insert as plain data: its name and its attributes.

    Raises:
        UserError: WV0511 for what is no barrier, wait, priority or hint.
    """
    own = getattr(sync, type(given).__name__, None) is type(given)
    if not isinstance(given, Op) or not own:
        raise wrong_argument(what, given, "a barrier, a wait, a priority or a hint")
    given.location = capture_location()
    given.infer()
    rows = tuple((name, _attribute(v)) for name, v in given.attributes.items())
    return ("op", given.op_name, rows)


def _attribute(value: object) -> Plain:
    if isinstance(value, Mapping):
        value = tuple(cast("Mapping[object, object]", value).items())
    if isinstance(value, (list, tuple)):
        return tuple(_attribute(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - any sequence
    word = getattr(value, "value", value)
    assert word is None or isinstance(word, (bool, int, str)), "ops have plain fields"
    return word


def whole(what: str, name: str, given: object, least: int) -> int:
    """An integer from ``least`` on.

    Raises:
        UserError: WV0511 for anything else.
    """
    if type(given) is not int or given < least:
        raise wrong_argument(
            f"`{name}` of `{what}`", given, f"an integer from {least} on"
        )
    return given


def wrong_argument(what: str, given: object, wanted: str) -> Exception:
    """The diagnostic for an argument that a schedule's function does not take."""
    text = f"a {type(given).__name__}" if isinstance(given, Nodes) else f"{given!r}"
    return user_error(
        "WV0511",
        f"{what if ' ' in what else f'`{what}`'} cannot take {text}",
        at=capture_location(),
        help=f"it takes {wanted}",
    )
