"""Finds the kernel that a command line names."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from wave_core.cli.output import announce
from wave_core.cli.parse import assignments, sizes
from wave_core.compile import codes
from wave_core.compile.kernels import KernelCase, make_case
from wave_core.compile.session import Session
from wave_core.diagnostics import Location, WaveError, plugin_error, user_error
from wave_core.passes.options import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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
) -> KernelCase:
    """The case that ``NAME`` or ``FILE.py:NAME`` means, at the sizes given as text.

    Raises:
        typer.BadParameter: where sizes or settings do not fit the form.
        UserError: WV0801 where nothing has that name, WV0826 where it is no kernel,
            or the user's file fails.
        PluginError: WV0819 where a plugin's function that makes the case fails.
    """
    given = sizes("--shape", shape), assignments("--set", settings)
    session.target(target)
    if kernel.endswith(".py"):
        what = f"`{kernel}` is a file, and no case in it is named"
        raise user_error(codes.NO_SUCH_NAME, what, help=_FORM)
    path, colon, name = kernel.rpartition(":")
    in_file = colon and path.endswith(".py")
    name = name if in_file else kernel
    load = session.plugins.load_kernel
    factory = _from_file(Path(path), name) if in_file else load(kernel)
    try:
        return make_case(factory, name, *given, target)
    except WaveError:
        raise
    except (Exception, SystemExit) as error:  # a case may fail in any way
        if in_file:
            what = f"`{name}` of `{path}` makes no case"
            raise _failed(what, Path(path), error) from error
        info = session.plugins.kernels[kernel].provider
        raise plugin_error(
            "WV0819",
            f"kernel `{kernel}` of plugin {info} failed: {_told(error)}",
            help=info.way_out,
        ) from error


def _from_file(path: Path, name: str) -> object:
    """An object of the user's file, which is run by importing it."""
    if not path.is_file():
        raise user_error(codes.NO_SUCH_NAME, f"there is no file `{path}`", help=_FORM)
    title = f"wave_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(title, path)
    if spec is None or spec.loader is None:
        raise user_error(codes.NO_SUCH_NAME, f"`{path}` is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except WaveError:
        raise
    except (Exception, SystemExit) as error:  # a user's file may fail in any way
        raise _failed(f"`{path}` cannot be imported", path, error) from error
    if not hasattr(module, name):
        public = [each for each in vars(module) if not each.startswith("_")]
        raise user_error(
            codes.NO_SUCH_NAME,
            f"`{path}` has no `{name}`",
            help=(
                *did_you_mean(name, public),
                f"it has: {', '.join(public) or 'none'}",
            ),
        )
    return getattr(module, name)


def _failed(what: str, path: Path, error: BaseException) -> Exception:
    """The user's file fails; at the last line of it that ran."""
    imported_as = os.path.abspath(path)  # noqa: PTH100 - as importlib makes it
    rows = extract_tb(error.__traceback__)
    ran = [row for row in rows if row.filename == imported_as]
    line = ran[-1].lineno if ran else getattr(error, "lineno", None)
    return user_error(
        codes.NOT_A_KERNEL,
        f"{what}: {_told(error)}",
        at=Location.of_span(str(path), line or 1),
        label="fails here",
        help="`python FILE` shows all of what Python says",
    )


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def with_options(case: KernelCase, given: Mapping[str, object]) -> KernelCase:
    """The case with options that the command line gives; ``None`` is not given."""
    changes = {name: value for name, value in given.items() if value is not None}
    return replace(case, options=replace(case.options, **changes))
