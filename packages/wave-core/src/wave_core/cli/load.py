"""Finds the kernel that a command line names."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wave_core.cli.output import announce
from wave_core.compile import codes
from wave_core.compile.kernels import KernelCase, make_case
from wave_core.compile.session import Session
from wave_core.diagnostics import user_error
from wave_core.passes.options import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping


def open_session() -> Session:
    """A session that announces on stderr."""
    return Session(announce=announce)


def find_case(
    session: Session,
    kernel: str,
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    target: str,
) -> KernelCase:
    """The case that ``NAME`` or ``FILE.py:NAME`` means.

    Raises:
        UserError: WV0801 where nothing has that name, WV0826 where it is no kernel.
    """
    session.target(target)
    path, colon, name = kernel.rpartition(":")
    if colon and path.endswith(".py"):
        factory, title = _from_file(Path(path), name), name
    else:
        factory, title = session.plugins.load_kernel(kernel), kernel
    return make_case(factory, title, shape, settings, target)


def _from_file(path: Path, name: str) -> object:
    """An object of the user's file, which is run by importing it."""
    if not path.is_file():
        raise user_error(codes.NO_SUCH_NAME, f"there is no file `{path}`")
    title = f"wave_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(title, path)
    if spec is None or spec.loader is None:
        raise user_error(codes.NO_SUCH_NAME, f"`{path}` is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        public = [each for each in vars(module) if not each.startswith("_")]
        raise user_error(
            codes.NO_SUCH_NAME,
            f"`{path}` has no `{name}`",
            help=did_you_mean(name, public),
        )
    return getattr(module, name)


def with_options(case: KernelCase, given: Mapping[str, object]) -> KernelCase:
    """The case with options that the command line gives; ``None`` is not given."""
    changes = {name: value for name, value in given.items() if value is not None}
    return replace(case, options=replace(case.options, **changes))
