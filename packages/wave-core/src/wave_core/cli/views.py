"""Views of plugins for ``wave inspect --what NAME``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from wave_core.cli.output import print_json, print_table
from wave_core.diagnostics import blamed_on_plugin, user_error
from wave_core.passes.selection import unknown_name
from wave_core.plugin.results import ViewError, ViewRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.compile.kernel import WaveKernel
    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.plugin.results import ViewResult, ViewSpec


def show_view(
    session: Session,
    case: KernelCase,
    name: str,
    *,
    own: Sequence[str],
    as_json: bool,
) -> None:
    """Compile a kernel and show a plugin's view of it.

    Raises:
        UserError: WV0801 where no plugin has the view, WV0829 where it cannot be
            computed; what compiling raises.
    """
    if name not in session.plugins.views:
        raise unknown_name("view", name, (*own, *session.plugins.views))
    result = view_of(session, case, name)
    if as_json:
        print_json(dict(result.document))
        return
    for titles, rows in result.tables:
        print_table(titles, list(rows))


def view_of(session: Session, case: KernelCase, name: str) -> ViewResult:
    """Compile a kernel and compute a plugin's view of it.

    Raises:
        UserError: WV0829 where it cannot be computed; what compiling raises.
        PluginError: WV0814 where the view cannot be loaded, WV0819 where it fails.
    """
    view = session.plugins.load_view(name)
    spec = session.plugins.views[name].value
    info = session.plugins.views[name].provider
    request = _request(session, case, spec)
    with blamed_on_plugin(f"view `{name}` of plugin {info}", help=info.way_out):
        try:
            return view(request)
        except ViewError as error:
            told = f"view `{name}` of kernel `{case.kernel.name}`: {error}"
            raise user_error("WV0829", told, help=error.help or ()) from error


def _request(session: Session, case: KernelCase, spec: ViewSpec) -> ViewRequest:
    # Compiling loads torch, and the backend where the view is of machine code.
    from wave_core.compile.compiler import wave_compile  # noqa: PLC0415
    from wave_core.compile.emission import emit  # noqa: PLC0415

    options = _options(session, case, spec)
    files: Mapping[str, bytes] = {}
    compiled: WaveKernel | None = None
    if spec.form:
        files = emit(options, case.kernel, spec.form, session).files
    else:
        compiled = wave_compile(options, case.kernel, session=session)
    return ViewRequest(
        case.kernel.name,
        case.options.target_name,
        files,
        case.shape,
        partial(_arguments, case),
        compiled,
    )


def _options(session: Session, case: KernelCase, spec: ViewSpec) -> WaveCompileOptions:
    known = session.plugins.option_specs
    wanted = {key: value for key, value in spec.options.items() if key in known}
    return replace(
        case.options, plugin_options={**case.options.plugin_options, **wanted}
    )


def _arguments(case: KernelCase) -> Sequence[Any]:
    # Only running needs numpy.
    import numpy as np  # noqa: PLC0415

    return case.make_arguments(np.random.default_rng(0))
