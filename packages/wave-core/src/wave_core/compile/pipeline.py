"""The pipeline that compile options ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.compile import codes
from wave_core.compile.option_rows import foreign_options
from wave_core.compile.printing import ALL
from wave_core.diagnostics import user_error
from wave_core.passes.phase import PHASES
from wave_core.passes.selection import Amendment, unknown_name
from wave_core.passes.text import Pipeline
from wave_core.plugin.plan import PipelinePlan, plan_pipeline
from wave_core.plugin.results import PipelineRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.targets import Target


def plan_for(
    session: Session, options: WaveCompileOptions, target: Target, kernel: str = ""
) -> PipelinePlan:
    """The passes that run, with options: preset, plugins, options, then the user.

    Raises:
        UserError: WV0801 unknown preset or pass, WV0824 an option whose package is
            not installed, WV0803 and WV0804 wrong options of passes.
    """
    host = session.plugins
    request = PipelineRequest(target.name, kernel, options.preset)
    given = {**owned_values(session, options), **options.plugin_options}
    user = _user(session, options)
    asks = user.enable or user.disable or user.options
    return plan_pipeline(host, request, given, user if asks else None)


def owned_values(session: Session, options: WaveCompileOptions) -> Mapping[str, object]:
    """The options of other packages that are given.

    The package has to be there for those that ask something of it.

    Raises:
        UserError: WV0824.
    """
    host = session.plugins
    found: dict[str, object] = {}
    for name, given in foreign_options(options).items():
        known = name in host.option_specs
        if given.asks and given.owner not in host.packages:
            raise _not_installed(name, given.owner, given.value, options)
        if given.asks and not known:
            raise _too_old(name, given.owner, options)
        if known:
            found[name] = given.value
    return found


def _not_installed(
    name: str, owner: str, value: object, options: WaveCompileOptions
) -> Exception:
    return user_error(
        codes.OPTION_OWNER,
        f"option `{name}={value}` belongs to package {owner}, which is not installed",
        at=options.location,
        label="given here",
        help=(
            f"pip install {owner}, or enable its plugin",
            f"or leave `{name}` out",
        ),
        option=name,
        package=owner,
    )


def _too_old(name: str, owner: str, options: WaveCompileOptions) -> Exception:
    return user_error(
        codes.OPTION_OWNER,
        f"the installed {owner} does not know option `{name}`",
        at=options.location,
        label="given here",
        help=(f"upgrade {owner}", f"or leave `{name}` out"),
        option=name,
        package=owner,
    )


def _user(session: Session, options: WaveCompileOptions) -> Amendment:
    """The user's own wishes for passes."""
    enabled = Amendment.of_text(Pipeline(tuple(options.passes)))  # pyright: ignore[reportArgumentType] - pass texts by now
    disable = tuple(options.disable_passes)
    values = dict(enabled.options)
    enable = tuple(name for name in enabled.enable if name not in disable)
    if options.pipeline is None:
        return Amendment(enable, disable, values)
    exact = Amendment.of_text(Pipeline.parse(options.pipeline))
    others = {each.name for each in session.plugins.passes} - set(exact.enable)
    return Amendment(
        exact.enable,
        (*sorted(others), *disable),
        {**values, **exact.options},
        "the pipeline is given",
    )


def check_pass_names(options: WaveCompileOptions, plan: PipelinePlan) -> None:
    """Refuse names in ``print_ir_after`` and ``print_ir_before`` that mean nothing.

    Raises:
        UserError: WV0801.
    """
    known = {ALL, *PHASES, *(each.name for each in plan.installed)}
    for option in ("print_ir_after", "print_ir_before"):
        for name in getattr(options, option):
            if name not in known:
                raise unknown_name("phase or pass", name, known, f"`{option}` names it")
