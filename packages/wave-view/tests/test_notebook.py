"""Kernels in notebooks, with a shell that has the parts of IPython's that are used."""

from __future__ import annotations

import html
import re
from types import SimpleNamespace

import pytest
from viewed_kernels import case_of, double

import wave_view
from wave_core.compile import WaveKernel, wave_compile
from wave_view import page, view_of_kernel


class Formatter(dict):
    """Printers by ``module.name``, as IPython's formatters know them."""

    def for_type_by_name(self, module, name, printer):
        self[f"{module}.{name}"] = printer


@pytest.fixture
def shell():
    formatters = {"text/html": Formatter()}
    return SimpleNamespace(display_formatter=SimpleNamespace(formatters=formatters))


def test_the_extension_shows_kernels_until_it_is_unloaded(shell):
    wave_view.load_ipython_extension(shell)
    printers = shell.display_formatter.formatters["text/html"]
    assert list(printers) == [f"{WaveKernel.__module__}.{WaveKernel.__name__}"]
    wave_view.unload_ipython_extension(shell)
    assert printers == {}


def test_a_kernel_is_its_facts_and_the_page_in_a_frame(shell, session):
    wave_view.load_ipython_extension(shell)
    (show,) = shell.display_formatter.formatters["text/html"].values()
    case = case_of(double)
    kernel = wave_compile(case.options, case.kernel, session=session)
    shown = show(kernel)
    assert "double(a: f32[M, N], b: f32[M, N])" in shown
    frame = re.search(r"<iframe sandbox='allow-scripts' srcdoc=\"([^\"]*)\"", shown)[1]
    timed = re.compile(r'"milliseconds":[0-9.e-]+')
    plain = page(view_of_kernel(kernel))
    assert timed.sub("", html.unescape(frame)) == timed.sub("", plain)
