"""An option of a pass is declared once; what fronts it agrees with the pass."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from wave_core.compile import WaveCompileOptions, option_table
from wave_core.compile.option_rows import CORE
from wave_core.passes import load_pass
from wave_core.passes.options import option_fields, option_types
from wave_core.plugin import PluginHost

HOST = PluginHost()
FRONTED = [row for row in option_table() if row.setting]
HINTS = get_type_hints(WaveCompileOptions)


@pytest.mark.parametrize("row", FRONTED, ids=lambda row: row.name)
def test_an_option_that_fronts_a_pass_has_its_type_and_default(row):
    name, _, option = row.setting.partition(".")
    found = HOST.pass_specs[name]
    assert found.provider.distribution == row.owner
    if not option:
        assert (HINTS[row.name], row.default) == (bool | None, None)
        return
    step = load_pass(next(each for each in HOST.passes if each.name == name))
    wanted = option_types(type(step))[option]
    assert HINTS[row.name] == wanted or HINTS[row.name] in get_args(wanted)
    assert row.default == getattr(step, option)


def test_the_other_options_of_packages_are_declared_by_a_plugin():
    rows = [row for row in option_table() if row.owner != CORE and not row.setting]
    for row in rows:
        assert HOST.option_specs[row.name].value.package == row.owner
        assert HOST.option_specs[row.name].value.default == row.default


@pytest.mark.parametrize("each", HOST.passes, ids=lambda each: each.name)
def test_every_option_of_a_pass_says_what_it_means(each):
    step = load_pass(each)
    assert all(field.summary for field in option_fields(step).values())
    assert option_types(type(step)).keys() == option_fields(step).keys()
