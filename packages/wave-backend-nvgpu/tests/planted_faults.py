"""Kernels as PTX, and each wait, barrier, fence or end of a group left out in turn."""

from __future__ import annotations

import re

import numpy as np
from emulated_kernels import compiled, session

from wave_core.compile.kernels import make_case

ORDERING = re.compile(
    r"\s+(bar\.|barrier\.|membar\.|fence\.|cp\.async\.(wait|commit|bulk\.wait|bulk\.c))"
)
"""Instructions that make others wait for each other, or tell what to wait for."""

DIRECT = {"passes": ("copy-direct-to-lds{demanded=true}",)}

KERNELS = {
    "staged": ("gemm-staged", {"M": 96, "N": 70, "K": 104}, {"preset": "default"}),
    "modulo": (
        "gemm-staged",
        {"M": 96, "N": 72, "K": 256},
        {"preset": "modulo", **DIRECT},
    ),
    "ahead": (
        "gemm-staged",
        {"M": 96, "N": 72, "K": 256},
        {"preset": "fetch-ahead", **DIRECT},
    ),
    "attention": (
        "attention-heads",
        {"B": 1, "H": 1, "M": 64, "K2": 136},
        {"preset": "default"},
    ),
    "attention-ahead": (
        "attention-heads",
        {"B": 1, "H": 1, "M": 64, "K2": 136},
        {"preset": "prefetch", **DIRECT},
    ),
}
"""A kernel of the library, its sizes and options."""


class Trial:
    """A kernel with what it should give, from which instructions are left out."""

    def __init__(self, name, target="sm_90"):
        kernel, shape, options = KERNELS[name]
        factory = session().plugins.load_kernel(kernel)
        self.case = make_case(factory, kernel, shape, {}, target)
        subs = dict(self.case.options.subs)
        self.made = compiled(self.case.kernel, subs, target, **options)
        self.lines = self.made.ptx.splitlines()

    def planted(self):
        """The lines that may be left out."""
        return [i for i, row in enumerate(self.lines) if ORDERING.match(row)]

    def wrong(self, without=None, order=None):
        """Whether a report or a result says that something is wrong."""
        arguments = list(self.case.make_arguments(np.random.default_rng(1)))
        wanted = self.case.reference([np.copy(each) for each in arguments])
        text = "\n".join(r for i, r in enumerate(self.lines) if i != without) + "\n"
        if self.made.run(*arguments, order=order, text=text):
            return True
        bound = self.case.tolerance
        bound *= self.case.scale(arguments) if self.case.scale else 1.0
        return any(
            not np.abs(np.asarray(arguments[place], np.float64) - right).max() <= bound
            for place, right in zip(self.case.outputs, wanted, strict=True)
        )

    def survivors(self, orders):
        """Which of `planted` can be left out with nothing to see in any order."""
        return [
            number
            for number, place in enumerate(self.planted())
            if not any(self.wrong(place, order) for order in orders)
        ]

    def text(self, number):
        """One of `planted`."""
        return self.lines[self.planted()[number]].split()[0]
