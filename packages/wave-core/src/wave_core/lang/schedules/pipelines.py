"""Software pipelines of a schedule: a loop, and what runs in each of its stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.lang.schedules.record import (
    Nodes,
    Recorded,
    recorder,
    refs_of,
    whole,
    wrong_argument,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.diagnostics import Location
    from wave_core.passes.manual import Ref


class Place(Recorded):
    """A part of a pipelined loop: where ops stand, and where others can be put."""

    __slots__ = ()


class Pipeline:
    """A loop whose iterations overlap; what ``pipeline`` gives, for a ``with``.

    Inside of it ``set_stage`` is called once for each stage, after it ``KERNEL``,
    ``PROLOGUE`` and ``EPILOGUE`` are what the loop became.
    """

    def __init__(
        self, loop: Ref, options: tuple[bool, int | None], place: Location
    ) -> None:
        """Remember the loop; nothing is recorded before the ``with`` ends."""
        self._loop, self._options, self._place = loop, options, place
        self._stages: list[Ref] = []
        self._first: tuple[int, Location] | None = None
        self._made: Ref | None = None
        self.unroll_factor = 1
        """How often the loop is unrolled once it is pipelined."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Record the pipeline, unless the block failed."""
        if kind is not None:
            return
        if self._made is not None:
            raise self._error("the pipeline is closed already", "used again here")
        if not self._stages:
            raise self._error("the pipeline has no stages", "this pipeline")
        book = recorder("pipeline")
        book.open.pop(id(self), None)
        made = book.add(
            "pipeline", self._loop, tuple(self._stages), *self._options, at=self._place
        )
        if self.unroll_factor != 1:
            factor = whole("pipeline", "unroll_factor", self.unroll_factor, 1)
            kernel = book.add("part", made, "kernel", at=self._place)
            book.add("unroll", kernel, factor, at=self._place)
        self._made = made

    def set_stage(self, clusters: Sequence[Any]) -> None:
        """Add a stage: a tuple of nodes for each of its places, in order.

        The first stage of an iteration runs beside the second one of the iteration
        before, and so on. Nodes at a place run before those of the same unit at later
        places; those at one place of different stages run together. All stages have
        as many places; an empty stage, ``[(), ()]``, keeps the others further apart.

        Raises:
            UserError: WV0511 for what is no list of tuples of nodes, WV0513 where
                another stage has another number of places.
        """
        if self._made is not None:
            raise self._error(
                "the pipeline is closed already", "a stage comes too late"
            )
        if not isinstance(clusters, (list, tuple)) or not clusters:
            raise wrong_argument("set_stage", clusters, "a list with tuples of nodes")
        place = capture_location()
        if self._first is None:
            self._first = (len(clusters), place)
        if len(clusters) != self._first[0]:
            raise _uneven(len(clusters), place, *self._first)
        rows = tuple(refs_of("set_stage", cluster) for cluster in clusters)
        self._stages.append(recorder("set_stage").add("stage", *rows, at=place))

    @property
    def KERNEL(self) -> Place:  # noqa: N802 - the name that schedules use
        """The loop that is left: all stages run in it, each on its iteration."""
        return self._part("kernel")

    @property
    def PROLOGUE(self) -> Place:  # noqa: N802 - the name that schedules use
        """The ops before it: stages of the first iterations."""
        return self._part("prologue")

    @property
    def EPILOGUE(self) -> Place:  # noqa: N802 - the name that schedules use
        """The ops after it: stages of the last iterations."""
        return self._part("epilogue")

    def _part(self, name: str) -> Place:
        if self._made is None:
            raise self._error(
                f"`{name.upper()}` is there once the pipeline is closed",
                "asked for too early",
            )
        return Place(recorder("pipeline").add("part", self._made, name))

    def _error(self, message: str, label: str) -> Exception:
        return user_error(
            "WV0513",
            message,
            at=capture_location(),
            label=label,
            secondary=((self._place, "the pipeline"),),
            help="write `with pipeline(loop) as p:`, and `p.set_stage([...])` in it",
        )


def _uneven(count: int, at: Location, first: int, place: Location) -> Exception:
    return user_error(
        "WV0513",
        f"a stage of {count} places follows one of {first}",
        at=at,
        label=f"{count} tuples",
        secondary=((place, f"{first} tuples"),),
        help="give every stage as many tuples; an empty one is `()`",
    )


@coded_arguments
def pipeline(
    loop: Any,
    eliminate_epilogue: bool = False,  # noqa: FBT001, FBT002 - the name says it
    multi_buffer_count: int | None = None,
) -> Pipeline:
    """Overlap the iterations of a loop, in stages that the schedule lists.

    Ops that no stage lists run where their values are needed. A loop that may have
    too few iterations keeps a copy for that case.

    Args:
        loop: A loop, found by its tag.
        eliminate_epilogue: Whether the loop runs to the end with masked loads, so
            that nothing is left to do after it.
        multi_buffer_count: Copies of each LDS buffer that iterations fill anew; as
            many as the stages need if left out.

    Raises:
        UserError: WV0511 for arguments of other kinds.
    """
    if not isinstance(loop, Nodes):
        raise wrong_argument("pipeline", loop, "a loop, as `get_node_by_tag` gives it")
    if type(eliminate_epilogue) is not bool:
        what = "`eliminate_epilogue` of `pipeline`"
        raise wrong_argument(what, eliminate_epilogue, "`True` or `False`")
    count = multi_buffer_count
    if count is not None:
        count = whole("pipeline", "multi_buffer_count", count, 1)
    place = capture_location()
    made = Pipeline(loop.ref, (eliminate_epilogue, count), place)
    recorder("pipeline").open[id(made)] = place
    return made


def place_ref(what: str, given: object) -> Ref:
    """The step behind a place: a part of a pipeline, or a loop.

    Raises:
        UserError: WV0511 for anything else.
    """
    if isinstance(given, (Place, Nodes)):
        return given.ref
    raise wrong_argument(what, given, "`p.KERNEL` of a pipeline, or a loop")
