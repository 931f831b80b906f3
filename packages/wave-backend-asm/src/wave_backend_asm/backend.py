"""The backend as core sees it: forms of output as files."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from wave_backend_asm.assemble.apart import Assembler
from wave_backend_asm.assemble.by_hand import OPTION, checked, refused
from wave_backend_asm.assemble.faults import fault
from wave_backend_asm.assemble.messages import AssemblerError
from wave_backend_asm.codegen.module import Generated, generate
from wave_backend_asm.encode.kernel import encoded
from wave_core.analysis.capacity import check_lds
from wave_core.backends.emission.manifest import MachineCode, artifact_of
from wave_core.compile.dump import Dumps
from wave_core.compile.option_values import text_option
from wave_isa_amdgcn.metrics import measure
from wave_runtime.artifact import MANIFEST, Manifest, code_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.backends import LoweringTable
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.ir import Graph
    from wave_core.targets import Target


class AsmBackend:
    """Selects, allocates and encodes within the process.

    What it does not encode itself, and texts of users, LLVM assembles in a process of
    its own.
    """

    def __init__(self) -> None:
        """The process is started when something is assembled."""
        self.assembler = Assembler()

    def versions(self) -> Mapping[str, str]:
        """This package, its tables and the assembler."""
        return versions()

    def prepare(self) -> None:
        """Nothing: code is encoded here, and LLVM is asked for what is not."""

    def check(self, lowered: Any, target: Target) -> None:
        """Refuse a kernel that needs more LDS than the chip has."""
        check_lds(lowered, target)

    def emit(
        self,
        lowered: Any,
        target: Target,
        options: Any,
        table: LoweringTable,
        form: str,
    ) -> Mapping[str, bytes]:
        """The files of one form, of the user's assembly where there is one."""
        graph: Graph = lowered
        given: WaveCompileOptions = options
        by_hand = text_option(given, OPTION)
        check_lds(graph, target)
        code = generate(
            graph,
            target,
            table,
            fast_math=given.use_fast_math,
            waves=given.waves_per_eu,
        )
        stem, name = f"{graph.name}-{target.name}", graph.name
        dumps = Dumps(given.dump_intermediates, given.dump_binaries, given.location)
        # Code is encoded from lines: few ask for all of them as one text.
        ours = encoded(code.kernel) if form == "hsaco" and by_hand is None else None
        silent = ours is not None and dumps.intermediates is None
        text = by_hand if by_hand is not None else "" if silent else code.text
        stages = {".s": text}
        if form == "asm":
            dumps.write(stem, graph, stages, {})
            return {f"{name}.s": text.encode()}
        if form == "metrics":
            found = measure(text, name, target).to_json()
            return {f"{name}.metrics.json": json.dumps(found).encode()}
        data = ours or self._assembled(text, graph, target, table, given)
        lds = code.kernel.lds_bytes
        if by_hand is not None:
            row = checked(data, by_hand, code.kernel, graph, target)
            lds = row.group_segment_fixed_size
        manifest = _manifest(code, graph, target, data, lds)
        told = manifest.to_json()
        dumps.write(stem, graph, stages, {f".{manifest.form}": data, ".json": told})
        return {code_file(manifest.form): data, MANIFEST: told}

    def _assembled(
        self, text: str, graph: Graph, target: Target, table: LoweringTable,
        options: WaveCompileOptions,
    ) -> bytes:  # fmt: skip
        try:
            return self.assembler.code(text, graph, target, options)
        except AssemblerError as error:
            if text_option(options, OPTION) is not None:
                raise refused(error, text, graph) from None
            raise fault(error, text, graph, table) from None


def _manifest(
    code: Generated, graph: Graph, target: Target, data: bytes, lds: int
) -> Manifest:
    made = MachineCode(code.kernel.name, "hsaco", data, lds, versions())
    return artifact_of(code, made, graph, target).manifest


@cache
def versions() -> Mapping[str, str]:
    """Everything besides the kernel that decides the code, with its version."""
    found: dict[str, str] = {}
    for name in (
        *("wave-core", "wave-backend-asm", "wave-isa-amdgcn", "iree-base-compiler"),
    ):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
