"""Finds the kernel that a command line names."""

from __future__ import annotations

import importlib.util
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from wave_core.cli.output import announce
from wave_core.cli.parse import assignments, sizes
from wave_core.compile.devices import AUTO, settle_target
from wave_core.compile.kernels import KernelCase, make_case
from wave_core.compile.launchable import LaunchableWave
from wave_core.compile.options import WaveCompileOptions
from wave_core.compile.session import Session
from wave_core.diagnostics import Location, WaveError, blamed_on_plugin, user_error
from wave_core.passes.options import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping


_Given = tuple[dict[str, int], dict[str, int | str]]
"""Sizes and settings of the command line."""

_FORM = "name a kernel, or a case in a file: `FILE.py:NAME`"


def open_session() -> Session:
    """A session that announces on stderr."""
    return Session(announce=announce)


def find_case(
    session: Session,
    kernel: str,
    shape: Iterable[str],
    settings: Iterable[str],
    target: str,
    device: str | None = None,
    *,
    checked: bool = False,
) -> KernelCase:
    """The case that ``NAME`` or ``FILE.py:NAME`` means, at the sizes given as text.

    A kernel of a file needs no more than its sizes: arguments are made up, unless what
    it computes shall be ``checked``. The case is for ``target``, which its options
    name; ``auto`` is that of a GPU here that ``device`` runs.

    Raises:
        typer.BadParameter: where sizes or settings do not fit the form.
        UserError: WV0801 where nothing has that name, WV0826 where it is no kernel,
            or the user's file fails.
        PluginError: WV0819 where a plugin's function that makes the case fails.
    """
    given = sizes("--shape", shape), assignments("--set", settings)
    machine = session.target(settle_target(session, target, device or AUTO)).name
    case = _case(session, kernel, given, machine, checked=checked)
    return with_options(case, {"target": machine})


def _case(
    session: Session, kernel: str, given: _Given, target: str, *, checked: bool
) -> KernelCase:
    if kernel.endswith(".py"):
        what = f"`{kernel}` is a file, and no case in it is named"
        raise user_error("WV0801", what, help=_FORM)
    path, colon, name = kernel.rpartition(":")
    in_file = colon and path.endswith(".py")
    if in_file:
        factory = from_file(Path(path), name)
        if isinstance(factory, LaunchableWave) and not checked:
            return _bare(session, factory, given, target)
        with _blamed(Path(path), f"`{name}` of `{path}` makes no case"):
            return make_case(factory, name, *given, target)
    factory = session.plugins.load_kernel(kernel)
    info = session.plugins.kernels[kernel].provider
    with blamed_on_plugin(f"kernel `{kernel}` of plugin {info}", help=info.way_out):
        return make_case(factory, kernel, *given, target)


def _bare(
    session: Session, kernel: LaunchableWave, given: _Given, target: str
) -> KernelCase:
    """The case of a kernel for which nobody wrote one: settings are symbols, too."""
    # The compiler loads torch and numpy; listing does with less.
    from wave_core.compile.bare_case import bare_case  # noqa: PLC0415

    subs = {**given[0], **given[1]}
    options = WaveCompileOptions(subs=subs, target=target)
    return bare_case(kernel, options, given[0], session)


def from_file(path: Path, name: str) -> object:
    """An object of the user's file, which is run by importing it."""
    if not path.is_file():
        raise user_error("WV0801", f"there is no file `{path}`", help=_FORM)
    title = f"wave_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(title, path)
    if spec is None or spec.loader is None:
        raise user_error("WV0801", f"`{path}` is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module
    sys.path.insert(0, str(path.resolve().parent))
    with _blamed(path, f"`{path}` cannot be imported"):
        spec.loader.exec_module(module)
    if not hasattr(module, name):
        public = [each for each in vars(module) if not each.startswith("_")]
        raise user_error(
            "WV0801",
            f"`{path}` has no `{name}`",
            help=(
                *did_you_mean(name, public),
                f"it has: {', '.join(public) or 'none'}",
            ),
        )
    return getattr(module, name)


@contextmanager
def _blamed(path: Path, what: str) -> Generator[None]:
    """Report what goes wrong in the user's file, at the last line of it that ran."""
    try:
        yield
    except WaveError:
        raise
    except (Exception, SystemExit) as error:  # a user's file may fail in any way
        imported_as = os.path.abspath(path)  # noqa: PTH100 - as importlib makes it
        rows = extract_tb(error.__traceback__)
        ran = [row for row in rows if row.filename == imported_as]
        line = ran[-1].lineno if ran else getattr(error, "lineno", None)
        raise user_error(
            "WV0826",
            f"{what}: {type(error).__name__}: {error}",
            at=Location.of_span(str(path), line or 1),
            label="fails here",
            help="`python FILE` shows all of what Python says",
        ) from error


def with_options(case: KernelCase, given: Mapping[str, object]) -> KernelCase:
    """The case with options that the command line gives; ``None`` is not given."""
    changes = {name: value for name, value in given.items() if value is not None}
    others = tuple(with_options(each, given) for each in case.others)
    return replace(case, options=replace(case.options, **changes), others=others)


def settled_case(
    session: Session, case: KernelCase, given: Mapping[str, object]
) -> KernelCase:
    """The case with these options; of its kernels the one that the preset takes.

    Raises:
        UserError: for mistakes in the kernel, its constraints or the bindings.
        PluginError: WV0819 where the preset fails to choose.
    """
    # The compiler loads torch; other commands go without.
    from wave_core.compile.alternatives import fastest  # noqa: PLC0415

    return fastest(with_options(case, given), session)
