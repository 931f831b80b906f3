"""The environment: typed, and a value that means nothing is an error."""

from __future__ import annotations

import pytest

from wave_core.compile import Config
from wave_core.diagnostics import UserError


def test_defaults():
    assert Config.of_environment({}) == Config()


def test_values(tmp_path):
    environ = {
        "WAVE_CACHE": "off",
        "WAVE_CACHE_DIR": str(tmp_path),
        "WAVE_DISABLE_PLUGINS": "sim-cpu, memory,",
    }
    found = Config.of_environment(environ)
    assert found == Config(False, tmp_path, ("memory", "sim-cpu"))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("WAVE_CACHE", "maybe"),
        ("WAVE_CACHE", "0"),
        ("WAVE_CACHE_DIR", "relative/path"),
        ("WAVE_CACHE_DIR", __file__),
    ],
)
def test_bad_values(variable, value):
    with pytest.raises(UserError) as caught:
        Config.of_environment({variable: value})
    assert caught.value.code == "WV0825"
    assert variable in str(caught.value)
