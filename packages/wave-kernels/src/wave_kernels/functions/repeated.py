"""Calls like earlier ones, which are not looked at from scratch.

What a function does follows from how its tensors lie in memory, its other arguments and
settings, unless it looks at elements. So a call that looks like an earlier one in all
of that does again what the earlier one did: makes the same tensors, and launches the
same kernels on what is at the same places now. What depends on addresses, alignment and
memory that is shared, is checked of all launches before the first; where anything is
in doubt, the function itself is called, and says what is wrong.

A call is recorded when it looks like one before it, so that shapes that come once cost
nothing, and kernels are compiled by then.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import torch

from wave_core.compile.launch.tensors import tracks_tangents
from wave_kernels.functions import launches
from wave_kernels.functions.recording import Recording, Replay
from wave_kernels.functions.requests import are_kept
from wave_runtime import DeviceError, LaunchRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from wave_core.compile.session import Session

    P = ParamSpec("P")
    T = TypeVar("T")

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

KEPT = 1024
"""Kinds of calls that a session remembers."""

SEEN, NEVER = "seen once", "looked at each time"
"""What is remembered of calls that cannot be done again, yet or at all."""

TENSORS = (torch.Tensor, torch.nn.Parameter)
"""Types whose elements lie in memory as they say; others may be anything."""

DEEPEST = 4
"""Lists within lists; a list may be within itself."""

PLAIN = (bool, int, str, torch.dtype, type(None))
"""Types of arguments that equal ones can stand for."""


def repeated(function: Callable[P, T]) -> Callable[P, T]:
    """The function, whose calls are repeated where they look like earlier ones."""

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        seen = _Seen()
        if _is_watched() or not (seen.fit(arguments) and seen.fit(named.values())):
            return function(*arguments, **named)
        session = launches.default_session()
        settings = (function, launches.ON_CPU, launches.ON_GPU)
        key = (*settings, len(arguments), *named, *seen.looks)
        known = session.calls.get(key)
        if isinstance(known, Replay):
            try:
                run = known.prepare(seen.tensors, seen.addresses)
            except (LaunchRefused, RuntimeError):
                return function(*arguments, **named)
            return _launched(run, function.__name__)
        if known is None:
            _remember(session, key, SEEN)
        if known is not SEEN or seen.has_one_twice:
            return function(*arguments, **named)
        with Recording(seen.tensors) as recording:
            result = function(*arguments, **named)
        _remember(session, key, recording.replay(result) or NEVER)
        return result

    return call


def _launched(run: Callable[[], T], name: str) -> T:
    """What a call returns; it is not done again where some of its kernels ran."""
    try:
        return run()
    except DeviceError as failure:
        raise launches.refused(name, failure) from failure


def _is_watched() -> bool:
    """Whether somebody wants to see what the function does, and not its result alone.

    `torch.compile` does, modes of torch's dispatcher, of which a recording is one,
    forward-mode autograd, and who collects requests.
    """
    if torch.compiler.is_compiling() or are_kept() or tracks_tangents():
        return True
    return torch._C._len_torch_dispatch_stack() > 0  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way


def _remember(session: Session, key: Hashable, value: object) -> None:
    if not session.config.cache:
        return
    if len(session.calls) >= KEPT:
        session.calls.clear()
    session.calls[key] = value


class _Seen:
    """What is seen of the arguments of a call.

    Attributes:
        looks: All that decides what is done, but for addresses.
        tensors: Those among the arguments, in order.
        addresses: Where each of them starts.
    """

    __slots__ = ("addresses", "looks", "tensors")

    def __init__(self) -> None:
        self.looks: list[Hashable] = []
        self.tensors: list[torch.Tensor] = []
        self.addresses: list[int] = []

    def fit(self, values: Iterable[Any], depth: int = DEEPEST) -> bool:
        """Look at arguments; whether looks say enough of all of them."""
        for value in values:
            kind = value.__class__
            if kind in TENSORS:
                if not self._fits(value):
                    return False
            elif kind in PLAIN:
                self.looks.append((kind, value))
            elif kind is float and value == value:  # noqa: PLR0124 - no NaN, which is like nothing seen
                # Zeros of both signs are equal, and do not give the same.
                self.looks.append((kind, value or str(value)))
            elif kind in (list, tuple, torch.Size):
                self.looks.append((kind, len(value)))
                if not (depth and self.fit(value, depth - 1)):
                    return False
            else:
                return False
        return True

    def _fits(self, tensor: torch.Tensor) -> bool:
        try:
            address, strides = tensor.data_ptr(), tensor.stride()
        except RuntimeError:
            return False  # It has no memory of its own.
        if not address and tensor.numel():
            return False  # Its memory was freed.
        tracked = tensor.requires_grad
        if tensor.is_neg() or (tracked and torch.is_grad_enabled()):
            return False
        place = tensor.dtype, tensor.device, tracked, address % launches.ALIGNED
        self.looks.append((tensor.shape, strides, place))
        self.tensors.append(tensor)
        self.addresses.append(address)
        return True

    @property
    def has_one_twice(self) -> bool:
        """Whether it is not known which argument a kernel is given."""
        return len({*map(id, self.tensors)}) < len(self.tensors)
