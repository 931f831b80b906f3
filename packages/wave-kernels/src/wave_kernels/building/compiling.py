"""One kernel of a library: from a call of a function to an artifact in a folder."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wave_core.compile.backends import backend_of
from wave_core.compile.choosing import settlements
from wave_core.compile.emission import emit
from wave_core.compile.session import Session
from wave_core.diagnostics import UserError
from wave_kernels.building.calls import Call, every_call
from wave_runtime import Artifact, Entry, Manifest, TensorInfo, save_artifact
from wave_runtime.artifact import code_file
from wave_runtime.manifest import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.options import WaveCompileOptions
    from wave_kernels.functions.requests import Request


@cache
def calls() -> dict[str, Call]:
    """What can be built, by name."""
    return {call.name: call for call in every_call()}


@cache
def quiet_session() -> Session:
    """Where hundreds of kernels are compiled nobody reads what could be better."""
    return Session(announce=lambda _: None)


def build(name: str, target: str, folder: str) -> str:
    """Compile the call of a name for a target.

    Args:
        name: Of `calls`.
        target: Of the machine.
        folder: Of the library; the artifact has a folder in it.

    Returns:
        The entry of the index, as JSON.

    Raises:
        UserError: where the kernel cannot be compiled.
    """
    call = calls()[name]
    request = call.request
    artifact = compiled(request, call, target)
    place = f"{target}/{call.function}/{call.tag}"
    save_artifact(artifact, Path(folder, *place.split("/")))
    entry = entry_of(call, request, artifact.manifest, place)
    return msgspec.json.encode(entry, order="deterministic").decode()


def compiled(request: Request, call: Call, target: str) -> Artifact:
    """The code of a request, for whatever sizes the call leaves to the launch.

    Raises:
        UserError: where the kernel cannot be compiled.
    """
    session = quiet_session()
    kernel = request.make(**request.what)
    left, chosen = ways(request, call, target)
    if chosen:
        try:
            return _emitted(left, kernel, session, chosen)
        except UserError:
            pass  # Tiles for other sizes may need less.
    return _emitted(left, kernel, session)


def ways(
    request: Request, call: Call, target: str
) -> tuple[WaveCompileOptions, list[WaveCompileOptions]]:
    """How a request may be compiled: with tiles left open, and with chosen ones.

    Where tiles are chosen for the sizes of the call, they are listed, the best first;
    others may be taken still: those that were chosen have to do without the sizes.
    """
    left = request.leaving(*call.dynamic).options("auto", target)
    if not call.tuned:
        return left, []
    kernel = request.make(**request.what)
    return left, [*_tiled(request, left, kernel, quiet_session())]


def _tiled(
    request: Request,
    left: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
) -> Iterator[WaveCompileOptions]:
    """The options with the tiles that are chosen for a request, the best first."""
    whole = request.options("auto", left.target)
    for each in settlements(whole, kernel, session):
        open_ = {*left.dynamic_symbols}
        subs = {key: value for key, value in each.subs.items() if key not in open_}
        yield replace(each, subs=subs, dynamic_symbols=left.dynamic_symbols)


def _emitted(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
    choices: Sequence[WaveCompileOptions] = (),
) -> Artifact:
    form = backend_of(session, options.target_name).artifact
    files = emit(options, kernel, form, session, choices).files
    manifest = Manifest.from_json(files["manifest.json"])
    return Artifact(manifest, files[code_file(manifest.form)])


def entry_of(call: Call, request: Request, manifest: Manifest, place: str) -> Entry:
    """The row of the index for a call that was compiled."""
    left = request.leaving(*call.dynamic)
    sizes = {n: v for n, v in request.sizes.items() if n not in left.sizes}
    return Entry(
        function=call.function,
        options=dict(call.options),
        request=request.text,
        target=manifest.target,
        form=manifest.form,
        tensors=tuple(TensorInfo(row.dtype, row.shape) for row in manifest.bindings),
        fixed=dict(left.sizes),
        tuned=sizes if call.tuned else {},
        place=place,
        manifest_digest=digest(manifest.to_json()),
    )
