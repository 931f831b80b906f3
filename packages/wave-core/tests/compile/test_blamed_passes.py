"""A pass that breaks the graph is named, whatever fails because of it."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from wave_core.compile import Config, Session, WaveCompileOptions
from wave_core.compile.compiler import lower_front
from wave_core.compile.front import front_of
from wave_core.diagnostics import InternalError, user_error
from wave_core.ir import walk
from wave_core.lang import f64
from wave_core.ops.memory import Read
from wave_core.passes import Pass, PassSpec, Phase
from wave_core.plugin import hookimpl
from wave_core.types import RegisterType


class SpoilTypes(Pass):
    """Says that what is read is f64."""

    def apply(self, graph, context):
        for op in walk(graph.body):
            if isinstance(op, Read):
                op.type = RegisterType(op.type.shape, f64)
        return True


class TripOver(Pass):
    """Fails on what it does not expect."""

    def apply(self, graph, context):
        if any(
            isinstance(op, Read) and op.type.dtype is f64 for op in walk(graph.body)
        ):
            raise self.error
        return False


def session_with(monkeypatch, *classes):
    module = ModuleType("toy_passes")
    vars(module).update({each.__name__: each for each in classes})
    monkeypatch.setitem(sys.modules, "toy_passes", module)
    plugin = SimpleNamespace(__name__="toy", REQUIRES_API=(1, 0))

    @hookimpl
    def wave_register_passes():
        for each, phase in zip(classes, (Phase.SCHEDULE, Phase.ALLOCATE), strict=False):
            path = f"toy_passes:{each.__name__}"
            yield PassSpec(each.pass_name(), phase, path)

    plugin.wave_register_passes = wave_register_passes
    return Session({"toy": plugin}, config=Config(cache=False), entry_points=())


@pytest.mark.parametrize("error", [None, KeyError("f64"), user_error("WV0801", "no")])
def test_the_pass_at_fault_is_named(monkeypatch, copy_kernel, tiles, error):
    later = type("TripOver", (TripOver,), {"error": error})
    classes = (SpoilTypes,) if error is None else (SpoilTypes, later)
    session = session_with(monkeypatch, *classes)
    options = WaveCompileOptions(subs=tiles | {"M": 33, "N": 65})
    front = front_of(options, copy_kernel, session)
    with pytest.raises(InternalError, match="its rule says") as caught:
        lower_front(front, copy_kernel)
    assert caught.value.pass_name == "spoil-types"
