"""What one call of a function does: tensors that it makes, and what it launches.

Torch tells of every operation on tensors. While these only make empty tensors and look
at others in another way, each argument of a kernel lies at a known distance from the
start of an argument of the call, or of a tensor that is made; so the same launches can
be done for other tensors. Of a call that does anything else nothing is known.
"""

# Torch declares types for few of its own functions.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from wave_runtime.kernel import stream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wave_core.compile import WaveKernel
    from wave_kernels.prebuilt import PrebuiltKernel
    from wave_runtime.devices import Buffer
    from wave_runtime.kernel import Repeat

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

_ATEN: Any = torch.ops.aten

MAKES = (
    _ATEN.empty.memory_format,
    _ATEN.empty_strided.default,
    _ATEN.new_empty.default,
    _ATEN.new_empty_strided.default,
)
"""Operations that give memory of which nobody has said what it holds."""


@dataclass(frozen=True, slots=True)
class Made:
    """An empty tensor that a call makes, as `torch.empty_strided` takes it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    def make(self) -> torch.Tensor:
        """Another one."""
        return torch.empty_strided(
            self.shape, self.strides, dtype=self.dtype, device=self.device
        )


Look = tuple[tuple[int, ...], tuple[int, ...], int]
"""Shape, strides and first element, as `torch.Tensor.as_strided` takes them."""


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor that a call returns.

    Attributes:
        whose: The number of the tensor that it is, or looks at.
        look: How it looks at it; ``None`` where it is all of it.
    """

    whose: int
    look: Look | None

    def of(self, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        """It, of the tensors of a call."""
        tensor = tensors[self.whose]
        return tensor if self.look is None else tensor.as_strided(*self.look)


Placed = tuple[int, int]
"""Which tensor of a call an argument looks at, and how many bytes behind its start."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What a call does, for other tensors that look the same.

    Attributes:
        made: Tensors that it makes; their numbers follow those of its arguments.
        launches: Kernels, in order, with the places of their arrays.
        parts: What it returns.
        together: Makes the outcome of these; ``None`` where it is one tensor.
    """

    made: tuple[Made, ...]
    launches: tuple[tuple[Repeat, tuple[Placed, ...]], ...]
    parts: tuple[Part, ...]
    together: Callable[[Sequence[torch.Tensor]], Any] | None

    def prepare(
        self, tensors: list[torch.Tensor], addresses: list[int]
    ) -> Callable[[], Any]:
        """Make and check all that it takes, so that nothing runs where one is refused.

        Args:
            tensors: The arguments of the call that are tensors, in order; those that
                are made are added.
            addresses: Theirs.

        Returns:
            Launches the kernels, and gives what the call returns.

        Raises:
            LaunchRefused: where a kernel cannot have its arrays.
            RuntimeError: where torch makes no tensor.
        """
        for each in self.made:
            tensor = each.make()
            tensors.append(tensor)
            addresses.append(tensor.data_ptr())
        checked = [
            repeat.check([addresses[whose] + at for whose, at in places])
            for repeat, places in self.launches
        ]
        return partial(self._run, tensors, checked)

    def _run(
        self, tensors: list[torch.Tensor], checked: Sequence[Sequence[Buffer]]
    ) -> Any:
        stream = stream_of(tensors)
        for (repeat, _), buffers in zip(self.launches, checked, strict=True):
            repeat(buffers, stream)
        if self.together is None:
            return self.parts[0].of(tensors)
        return self.together([part.of(tensors) for part in self.parts])


class Recording(TorchDispatchMode):
    """Sees what one call does, while it is entered."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        """Begin with the arguments of the call that are tensors, all different."""
        super().__init__()
        self._whole = [*tensors]
        # The tensors are kept, so that no other gets the number of one of them.
        self._known = {id(each): (each, i) for i, each in enumerate(tensors)}
        self._made: list[Made] = []
        self._launches: list[tuple[Repeat, tuple[Placed, ...]]] = []
        self._is_plain = True

    def __enter__(self) -> Any:
        """See everything from here on."""
        self._token = _RECORDER.set(self)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        """See nothing any more."""
        super().__exit__(*error)
        _RECORDER.reset(self._token)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """One operation of torch."""
        del types
        found = func(*args, **(kwargs or {}))
        if func in MAKES:
            self._make(found)
        elif func is not _ATEN.promote_types.default:
            self._look(func, args, found)
        return found

    def _make(self, tensor: torch.Tensor) -> None:
        self._known[id(tensor)] = (tensor, len(self._whole))
        self._whole.append(tensor)
        strides = tuple(tensor.stride())
        made = Made(tuple(tensor.shape), strides, tensor.dtype, tensor.device)
        self._made.append(made)

    def _look(self, func: Any, args: tuple[Any, ...], found: Any) -> None:
        """Looks at one known tensor are known, and nothing else is."""
        of = [each for each in args if isinstance(each, torch.Tensor)]
        looks: list[Any] = [*found] if isinstance(found, list | tuple) else [found]
        whose = self._whose(of[0]) if len(of) == 1 else None
        changes = bool(func._schema.is_mutable)  # noqa: SLF001 - no other way
        if changes or whose is None or not all(_are_one(of[0], row) for row in looks):
            self._is_plain = False
            return
        self._known |= {id(each): (each, whose) for each in looks}

    def _whose(self, tensor: torch.Tensor) -> int | None:
        known = self._known.get(id(tensor))
        return None if known is None else known[1]

    def launched(
        self, kernel: WaveKernel | PrebuiltKernel, arguments: Sequence[Any]
    ) -> None:
        """A kernel ran with these arguments."""
        if not self._is_plain:
            return
        arrays = [each for each in arguments if isinstance(each, torch.Tensor)]
        places = tuple(place for each in arrays if (place := self._place(each)))
        repeat = kernel.repeat(*arguments) if len(places) == len(arrays) else None
        if repeat is None:
            self._is_plain = False
        else:
            self._launches.append((repeat, places))

    def _place(self, tensor: torch.Tensor) -> Placed | None:
        whose = self._whose(tensor)
        if whose is None:
            return None
        return whose, tensor.data_ptr() - self._whole[whose].data_ptr()

    def replay(self, result: Any) -> Replay | None:
        """How to do the call again that returned this; ``None`` where it cannot be."""
        if not self._is_plain or not self._launches:
            return None
        several = isinstance(result, tuple)
        rows: list[Any] = [*result] if several else [result]
        parts = tuple(part for each in rows if (part := self._part(each)))
        if len(parts) < len(rows):
            return None
        together: Any = getattr(result, "_make", tuple) if several else None  # pyright: ignore[reportUnknownArgumentType] - of anything
        return Replay(tuple(self._made), tuple(self._launches), parts, together)

    def _part(self, value: Any) -> Part | None:
        """A known tensor, but no look at an argument, which torch may track."""
        whose = self._whose(value)
        if whose is None:
            return None
        whole = self._whole[whose]
        is_made = whose >= len(self._whole) - len(self._made)
        looks_the_same = _seen(value) == _seen(whole) and value.dtype == whole.dtype
        if value is whole or (is_made and looks_the_same):
            return Part(whose, None)
        if not is_made or value.dtype != whole.dtype:
            return None
        return Part(whose, _seen(value))


def _seen(tensor: torch.Tensor) -> Look:
    return tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset())


def _are_one(tensor: torch.Tensor, other: Any) -> bool:
    """Whether something is a look at a tensor's memory."""
    if not isinstance(other, torch.Tensor):
        return False
    mine, others = tensor.untyped_storage(), other.untyped_storage()
    return mine.data_ptr() == others.data_ptr()


_RECORDER: ContextVar[Recording | None] = ContextVar("recorder", default=None)


def recorder() -> Recording | None:
    """Who sees what the call that is under way does."""
    return _RECORDER.get()
