"""The kernel that is measured, as text: other processes find it by that."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from wave_core.cli.load import find_case, with_options
from wave_core.cli.passes import option_changes
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.session import Session


_LISTS = ("shape", "settings", "options")
"""Fields of a subject that are lists in JSON."""


@dataclass(frozen=True)
class Subject:
    """A kernel at one shape, for one target.

    Attributes:
        kernel: Its name, or ``FILE.py:NAME``.
        shape: Sizes, as ``M=512,N=512``.
        settings: Settings, as ``BLOCK_M=128``: what is set is not tuned.
        target: The machine; ``auto`` is that of a GPU here.
        preset: The preset; one that chooses leaves configurations open.
        options: Other options, as ``use_fast_math=true``.
    """

    kernel: str
    shape: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    target: str = "auto"
    preset: str | None = None
    options: tuple[str, ...] = ()

    @classmethod
    def of_text(cls, text: str) -> Self:
        """From what `text` wrote."""
        rows: dict[str, Any] = json.loads(text)
        rows |= {name: tuple(rows[name]) for name in _LISTS}
        return cls(**rows)

    def text(self) -> str:
        """The subject as one line."""
        return json.dumps(asdict(self))

    def at(self, shape: Mapping[str, int]) -> Self:
        """The same kernel at other sizes."""
        given = tuple(f"{name}={size}" for name, size in shape.items())
        return replace(self, shape=(*self.shape, *given))

    def case(self, session: Session) -> KernelCase:
        """The kernel with arguments.

        Raises:
            typer.BadParameter: where sizes or options do not fit the form.
            UserError: where there is no such kernel, size, setting or option.
        """
        given = self.shape, self.settings, self.target
        case = find_case(session, self.kernel, *given)
        told = option_changes(self.options, case.options, session.plugins)
        return with_options(case, {"preset": self.preset, **told})


def subject_of(kernel: str | LaunchableWave, **more: Any) -> Subject:
    """The subject that a name or a kernel means.

    Raises:
        UserError: WV0826 for a kernel that its file does not hold under its name.
    """
    if isinstance(kernel, str):
        return Subject(kernel, **more)
    path = inspect.getsourcefile(kernel.function)
    name = kernel.function.__qualname__
    if path is None or not Path(path).is_file() or not name.isidentifier():
        raise user_error(
            "WV0826",
            f"kernel `{kernel.name}` cannot be found by other processes",
            at=kernel.location,
            help="define it at the top of a file, under the name of its function",
        )
    return Subject(f"{path}:{name}", **more)
