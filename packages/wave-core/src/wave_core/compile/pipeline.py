"""The pipeline that compile options ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wave_core.compile.option_rows import CORE, given
from wave_core.compile.option_values import at_options
from wave_core.compile.printing import ALL
from wave_core.diagnostics import UserError, user_error
from wave_core.passes.load import load_pass
from wave_core.passes.phase import PHASES
from wave_core.passes.selection import Amendment, unknown_name
from wave_core.passes.text import Pipeline
from wave_core.plugin.plan import PipelinePlan, plan_pipeline
from wave_core.plugin.results import PipelineRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wave_core.compile.option_rows import OptionRow
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
    try:
        asked = [*_fronted(session, options), *_of_passes(session, options)]
        own = {**_of_plugins(session, options), **options.plugin_options}
        host.options.check(own)
        plan = plan_pipeline(host, request, asked)
        _check_options(plan, asked, options)
        _check_pass_names(options, plan)
    except UserError as error:
        raise at_options(error, options.location) from None
    return plan


def _fronted(
    session: Session, options: WaveCompileOptions
) -> Iterator[tuple[str, Amendment]]:
    """Changes of the pipeline by options that front passes, each with its origin.

    Raises:
        UserError: WV0824.
    """
    for row, value in given(options):
        name, _, option = row.setting.partition(".")
        if not name or not _has_owner(session, row, value, session.plugins.pass_specs):
            continue
        if option:
            amendment = Amendment(options={name: {option: value}})
        elif value:
            amendment = Amendment(enable=(name,))
        else:
            amendment = Amendment(disable=(name,))
        yield f"option {row.name}", amendment


def _of_plugins(session: Session, options: WaveCompileOptions) -> Mapping[str, object]:
    """The options that plugins declare under the name that they have here.

    Raises:
        UserError: WV0824.
    """
    known = session.plugins.option_specs
    return {
        row.name: value
        for row, value in given(options)
        if row.owner != CORE and not row.setting
        if _has_owner(session, row, value, known)
    }


def _check_options(
    plan: PipelinePlan,
    asked: Iterable[tuple[str, Amendment]],
    options: WaveCompileOptions,
) -> None:
    """See that options of passes fit, of those too that do not run.

    Raises:
        UserError: WV0803, WV0804.
    """
    installed = {each.name: each for each in plan.installed}
    for origin, amendment in asked:
        for name, values in amendment.options.items():
            try:
                load_pass(installed[name], values)
            except UserError as error:
                label = f"given by {origin}"
                raise at_options(error, options.location, label) from None


def _has_owner(
    session: Session, row: OptionRow, value: object, known: Mapping[str, object]
) -> bool:
    """Whether the package that an option belongs to is here and knows it.

    It has to be, unless the value is ``False``, which only declines what the package
    does.

    Raises:
        UserError: WV0824.
    """
    present = (row.setting.partition(".")[0] or row.name) in known
    if present or value is False:
        return present
    if row.owner in session.plugins.packages:
        what = f"the installed {row.owner} does not know option `{row.name}`"
        way_out = f"upgrade {row.owner}"
    else:
        what = (
            f"option `{row.name}={value}` belongs to package {row.owner},"
            " which is not installed"
        )
        way_out = f"pip install {row.owner}, or enable its plugin"
    raise user_error(
        "WV0824",
        what,
        help=(way_out, f"or leave `{row.name}` out"),
        option=row.name,
        package=row.owner,
    )


def _of_passes(
    session: Session, options: WaveCompileOptions
) -> Iterator[tuple[str, Amendment]]:
    """Changes by the options that name passes, each with its origin."""
    given = Pipeline(tuple(options.passes))  # pyright: ignore[reportArgumentType] - pass texts by now
    yield "option passes", Amendment.of_text(given)
    # Those on modules are left out where they would run.
    elsewhere = session.plugins.module_pass_specs.keys() - session.plugins.pass_specs
    disable = tuple(each for each in options.disable_passes if each not in elsewhere)
    yield "option disable_passes", Amendment(disable=disable)
    if options.pipeline is not None:
        exact = Amendment.of_text(Pipeline.parse(options.pipeline))
        others = {each.name for each in session.plugins.passes} - set(exact.enable)
        yield "option pipeline", replace(exact, disable=tuple(sorted(others)))


def _check_pass_names(options: WaveCompileOptions, plan: PipelinePlan) -> None:
    """Refuse names in ``print_ir_after`` and ``print_ir_before`` that mean nothing.

    Raises:
        UserError: WV0801.
    """
    known = {ALL, *PHASES, *(each.name for each in plan.installed)}
    for option in ("print_ir_after", "print_ir_before"):
        for name in getattr(options, option):
            if name not in known:
                raise unknown_name("phase or pass", name, known, f"`{option}` names it")
