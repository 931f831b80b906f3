"""A session with the installed plugins, and kernels lowered and emitted in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_core.compile import Config, Session, WaveCompileOptions
from wave_core.compile.choosing import settlements
from wave_core.compile.compiler import lower_front
from wave_core.compile.emission import emit
from wave_core.compile.front import front_of
from wave_core.compile.kernels import make_case


@pytest.fixture(scope="session")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


@pytest.fixture(scope="session")
def lowered(session):
    """The lowered graph of a kernel of the library, with its target.

    The same whatever is chosen where nothing is set.
    """

    def make(name, target="gfx942", sizes=None, settings=None):
        factory = session.plugins.load_kernel(name)
        case = make_case(factory, name, sizes or {}, settings or {}, target)
        return lower(case.kernel, replace(case.options, preset="default"))

    def lower(kernel, options):
        settled = settlements(options, kernel, session)[0]
        front = front_of(settled, kernel, session)
        return lower_front(front, kernel).graph, front.target

    make.lower = lower
    return make


@pytest.fixture(scope="session")
def emitted(session):
    """The files of a form for a kernel, or the text of its only one."""

    def files(kernel, form, target="gfx942", subs=None, dynamic=(), **options):
        given = WaveCompileOptions(
            subs=subs or {}, dynamic_symbols=dynamic, target=target, **options
        )
        return emit(given, kernel, form, session).files

    def text(*arguments, **options):
        (found,) = files(*arguments, **options).values()
        return found.decode()

    text.files = files
    return text
