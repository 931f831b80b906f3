"""The kernel that is measured, as text: other processes find it by that."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from wave_core.cli.load import find_case, from_file, with_options
from wave_core.cli.parse import sizes
from wave_core.cli.passes import option_changes
from wave_core.compile.devices import settle_target
from wave_core.compile.kernels import KernelCase
from wave_core.compile.launchable import LaunchableWave
from wave_core.compile.options import WaveCompileOptions
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.compile.launch.signature import Parameter
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
        case = self._bare(session) or find_case(
            session, self.kernel, self.shape, self.settings, self.target
        )
        told = option_changes(self.options, case.options, session.plugins)
        return with_options(case, {"preset": self.preset, **told})

    def _bare(self, session: Session) -> KernelCase | None:
        """The case of a kernel in a file, for which nobody wrote one."""
        path, _, name = self.kernel.rpartition(":")
        if not path.endswith(".py"):
            return None
        found = from_file(Path(path), name)
        if not isinstance(found, LaunchableWave):
            return None
        given = sizes("--shape", self.shape) | sizes("--set", self.settings)
        target = settle_target(session, self.target)
        options = WaveCompileOptions(subs=given, target=target)
        return bare_case(found, options, given, session)


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


def bare_case(
    kernel: LaunchableWave,
    options: WaveCompileOptions,
    shape: Mapping[str, int],
    session: Session,
) -> KernelCase:
    """A kernel with arguments made up from its signature: there is no reference.

    Floats are random, integers zeros, which are valid wherever they are indices.

    Raises:
        UserError: WV0826 for a kernel that takes numbers, whose values nobody knows;
            and for mistakes in the kernel.
    """
    # The compiler loads torch.
    from wave_core.compile.choosing import settlements  # noqa: PLC0415
    from wave_core.compile.front import traced_graph  # noqa: PLC0415
    from wave_core.compile.launch.signature import Signature  # noqa: PLC0415

    settled = settlements(replace(options, preset="default"), kernel, session)[0]
    rows = Signature.of(traced_graph(settled, kernel, session)).parameters
    numbers = [row for row in rows if not row.is_tensor]
    unknown = [row for row in rows if not all(e.is_constant for e in row.extents)]
    if numbers or unknown:
        first = (numbers + unknown)[0]
        raise user_error(
            "WV0826",
            f"nobody knows the arguments of `{kernel.name}`: `{first}`",
            at=kernel.location,
            help=(
                "give every size: `--shape M=512,N=512`",
                "or name a function (shape, settings, target) -> KernelCase",
            ),
        )
    return KernelCase(
        kernel=kernel,
        options=options,
        shape=shape,
        make_arguments=partial(_arguments, rows),
        reference=lambda _: [],
        outputs=tuple(row.position for row in rows if row.is_output),
        tolerance=0.0,
    )


def _arguments(rows: Sequence[Parameter], rng: np.random.Generator) -> list[Any]:
    """An array for each parameter."""
    import numpy as np  # noqa: PLC0415 - commands that only list go without

    found: list[Any] = []
    for row in rows:
        extents = tuple(each.constant_value for each in row.extents)
        dtype = row.dtype.numpy()
        values = rng.standard_normal(extents) if row.dtype.is_float else 0
        found.append(np.full(extents, values, np.float64).astype(dtype))
    return found
