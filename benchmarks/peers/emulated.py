"""What the emulator's model says of a code object, as JSON.

``python emulated.py FILE DIR``: FILE describes a launch of what `triton_code` or
`wave_code` left in DIR. The answer has the estimate, and what a turn of the long loop
executes beside matrix instructions.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np

from wave_core.compile import Session
from wave_core.compile.kernels import make_case
from wave_core.plugin import ViewRequest
from wave_emulator_amdgcn import load
from wave_emulator_amdgcn.costs.estimate import estimate
from wave_emulator_amdgcn.costs.sample import measured
from wave_emulator_amdgcn.views import cycles

DTYPES = {"*fp16": np.float16, "*fp32": np.float32}
HIDDEN = 2
"""Pointers that Triton adds behind the others: scratch memory and a profile."""


def of_triton(row, files):
    """The estimate of a launch of Triton's."""
    facts = json.loads(files["facts.json"])
    code = load(files["code.hsaco"]).with_dynamic_lds(facts["lds_bytes"])

    def make_buffers():
        rng = np.random.default_rng(0)
        kinds = [kind for kind in row["types"].values() if kind in DTYPES]
        given = zip(row["buffers"], kinds, strict=True)
        arrays = [
            rng.standard_normal(s, np.float32).astype(DTYPES[t]) for s, t in given
        ]
        return [*arrays, *(np.zeros(16, np.uint8) for _ in range(HIDDEN))]

    result = measured(
        code, make_buffers, grid=tuple(row["grid"]), constants=row["numbers"]
    )
    return vars(estimate(code, code.kernel(), result))


def of_wave(row, files):
    """The estimate of a launch of ours."""
    factory = Session().plugins.load_kernel(row["kernel"])
    case = make_case(factory, row["kernel"], row["shape"], {}, row["target"])
    make = partial(case.make_arguments, np.random.default_rng(0))
    name = case.kernel.name
    request = ViewRequest(name, row["target"], files, case.shape, make, None)
    return cycles(request).document


def main():
    row = json.loads(Path(sys.argv[1]).read_text())
    files = {path.name: path.read_bytes() for path in Path(sys.argv[2]).iterdir()}
    found = (of_wave if "shape" in row else of_triton)(row, files)
    loop = found["cycles"].get("loop_others_per_kflop")
    print(
        json.dumps({"cycles": found["cycles"], "basis": found["basis"], "loop": loop})
    )


if __name__ == "__main__":
    main()
