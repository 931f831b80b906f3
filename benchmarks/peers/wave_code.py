"""Code objects of Wave, as ``wave compile KERNEL --target T --shape S`` makes them.

``python wave_code.py FILE DIR``: as `triton_code`, of a kernel of ours. Nothing but its
name, its sizes and the target is given, and what options the row has; no cache takes
part.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from again import serve

from wave_core.compile import Config, Session
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case


def main():
    row, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    session = Session(config=Config(cache=False), announce=lambda _: None)
    factory = session.plugins.load_kernel(row["kernel"])

    nvidia = row["target"].startswith("sm_")
    text, code = ("ptx", "cubin") if nvidia else ("asm", "hsaco")

    def compile_once(form=code):
        case = make_case(factory, row["kernel"], row["shape"], {}, row["target"])
        found = emit(
            replace(case.options, **row["options"]), case.kernel, form, session
        )
        assert not found.cached, "each compilation is whole"
        return found.files

    out.mkdir(parents=True, exist_ok=True)
    for form in (text, code):
        for name, data in compile_once(form).items():
            (out / name).write_bytes(data)
    serve(compile_once)


if __name__ == "__main__":
    main()
