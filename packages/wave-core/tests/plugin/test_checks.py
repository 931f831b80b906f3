"""What plugins have `wave doctor` look for."""

from __future__ import annotations

import sys
from types import SimpleNamespace

SOURCE = """
@hookimpl
def wave_register_checks():
    yield CheckSpec("toyas", "wave_test_made:found", "an assembler")
"""


def test_wave_register_checks(host, monkeypatch):
    module = SimpleNamespace(__name__="wave_test_made", found=lambda: ("ok", "here"))
    monkeypatch.setitem(sys.modules, "wave_test_made", module)
    plugins = host(toy=SOURCE)
    assert plugins.load_check("toyas")() == ("ok", "here")
    assert plugins.checks["toyas"].provider.name == "toy"
