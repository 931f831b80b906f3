"""Plugins out of nothing: modules and entry points made on the spot."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType

import pytest

from wave_core.plugin import PluginHost


@dataclass(frozen=True)
class FakeDistribution:
    name: str
    version: str

    @property
    def metadata(self):
        return {"Name": self.name, "Version": self.version}


@dataclass(frozen=True)
class FakeEntryPoint:
    name: str
    dist: FakeDistribution | None
    module: object = field(compare=False, default=None)

    def load(self):
        if isinstance(self.module, Exception):
            raise self.module
        return self.module


def make_module(source="", requires="(1, 0)"):
    module = ModuleType("made_up.plugin")
    head = f"REQUIRES_API = {requires}\n" if requires else ""
    exec(f"from wave_core.plugin import *\n{head}{source}", vars(module))
    return module


def make_point(name, source="", requires="(1, 0)", version="1.2"):
    failing = isinstance(source, Exception)
    module = source if failing else make_module(source, requires)
    return FakeEntryPoint(name, FakeDistribution(f"wave-{name}", version), module)


@pytest.fixture
def point():
    """Makes the entry point of a plugin from the source of its module."""
    return make_point


@pytest.fixture
def host():
    """A host with the given plugins, by name."""

    def make(disable="", **sources):
        points = [make_point(name, source) for name, source in sources.items()]
        return PluginHost(points, disable.split())

    return make
