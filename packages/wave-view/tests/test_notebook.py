"""Kernels in notebooks: the facts of core, and the page in a frame."""

from __future__ import annotations

import html
import re

from viewed_kernels import case_of, double

from wave_core.compile import Session, wave_compile
from wave_sim_cpu import plugin as sim_cpu
from wave_view import page, plugin, view_of_kernel


def test_a_kernel_is_its_facts_and_the_page_in_a_frame():
    session = Session({"sim_cpu": sim_cpu, "view": plugin}, entry_points=())
    case = case_of(double)
    kernel = wave_compile(case.options, case.kernel, session=session)
    shown = kernel._repr_html_()
    assert "double(a: f32[M, N], b: f32[M, N])" in shown.partition("<iframe")[0]
    frame = re.search(r"<iframe sandbox='allow-scripts' srcdoc=\"([^\"]*)\"", shown)[1]
    timed = re.compile(r'"milliseconds":[0-9.e-]+')
    plain = page(view_of_kernel(kernel))
    assert timed.sub("", html.unescape(frame)) == timed.sub("", plain)
