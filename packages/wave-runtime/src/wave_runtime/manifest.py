"""The manifest of an artifact: all that a launch needs besides the code."""

from __future__ import annotations

import hashlib
import re
from typing import TypeVar

import msgspec

from wave_runtime.errors import ArtifactError

FORMAT = 1
"""Raised when the meaning of a field changes."""

MAX_MANIFEST = 1 << 20
"""Bytes of a manifest; larger ones come from no compiler."""

MAX_PARAMETERS = 4096
MAX_GRID_AXES = 3
MAX_THREADS = 1024
"""Of a workgroup. Source: the limit of both HIP and CUDA, `maxThreadsPerBlock`."""

WORDS = {
    **dict.fromkeys(("i8", "i16", "i32", "u8", "u16", "u32"), 1),
    **dict.fromkeys(("bool", "f16", "bf16", "f32"), 1),
    **dict.fromkeys(("i64", "u64", "index", "f64"), 2),
}
"""32-bit words of a scalar argument, by element type."""

FORMS = ("hsaco", "vmfb", "cubin", "ptx")
"""Forms of code: an AMD code object, a module for IREE, NVIDIA machine code, and PTX,
which the driver of the GPU makes machine code of."""

DEVICE_SYMBOL = "$DD{}"
"""The constant with the coordinate of a device along an axis."""

MOST_BOX = 256
"""Elements of a box along each dimension. Source: cuTensorMapEncodeTiled."""

MOST_DIMENSIONS = 5
SWIZZLES = (0, 32, 64, 128)

Record = TypeVar("Record")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.$]{0,255}")


class BindingInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One pointer argument.

    Attributes:
        name: The parameter.
        dtype: Its element type.
        shape: Its extents as text, over the symbols that the launch binds.
        written: Whether the kernel writes it.
        limit: Bytes that it may not reach; ``None`` for any size.
    """

    name: str
    dtype: str
    shape: tuple[str, ...]
    written: bool
    limit: int | None = None


class ConstantInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number after the pointers: a size, or a scalar argument."""

    name: str
    dtype: str
    words: int
    parameter: bool


class TensorMapInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A memory of which whole boxes are copied to shared memory.

    What lies outside of the memory arrives as zeros.

    Attributes:
        binding: The name of its pointer argument; it has that one's shape.
        box: Elements of a box along each dimension.
        swizzle: Bytes of a row of a box whose chunks of 16 change places as the number
            of the row says; or 0.
    """

    binding: str
    box: tuple[int, ...]
    swizzle: int = 0


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of code, and how to launch it.

    Attributes:
        name: The symbol of the kernel.
        target: The architecture, such as ``gfx942`` or ``sm_90a``.
        parameters: Names of the arguments in the order of a call.
        bindings: The pointer arguments, in the order of the code's arguments.
        constants: The words after them, in order.
        grid: Workgroups on each axis, as text.
        devices: Devices on each axis, as text, where the work is spread over several;
            the code takes its coordinates as the constants ``$DD0``, ``$DD1``, ...
        threads: Threads of a workgroup.
        wave_size: Lanes of a wave.
        lds_bytes: LDS of a workgroup; of a cubin and of PTX what a launch asks for.
        max_extent: Extents that the launch binds stay below this.
        code_bytes: Size of the code.
        code_digest: SHA-256 of the code, in hexadecimal.
        versions: What compiled it.
        form: Of the code, one of `FORMS`.
        tensor_maps: What the code takes behind the words, 128 bytes each, in order.
        format: Of this record.
    """

    name: str
    target: str
    parameters: tuple[str, ...]
    bindings: tuple[BindingInfo, ...]
    constants: tuple[ConstantInfo, ...]
    grid: tuple[str, ...]
    threads: int
    wave_size: int
    lds_bytes: int
    max_extent: int
    code_bytes: int
    code_digest: str
    versions: dict[str, str]
    devices: tuple[str, ...] = ()
    form: str = "hsaco"
    tensor_maps: tuple[TensorMapInfo, ...] = ()
    format: int = FORMAT

    def to_json(self) -> bytes:
        """The text form; equal manifests give equal bytes."""
        return msgspec.json.format(
            msgspec.json.encode(self, order="deterministic"), indent=2
        )

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read the text form.

        Raises:
            ArtifactError: where it is no manifest.
        """
        if len(data) > MAX_MANIFEST:
            raise ArtifactError(f"a manifest of {len(data)} bytes")
        found = decoded(data, cls, "a manifest")
        check(found)
        return found


def decoded(data: bytes, kind: type[Record], what: str) -> Record:
    """A record from its text form.

    Raises:
        ArtifactError: where it is not ``what`` it should be.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        # What msgspec finds, and bytes that are no UTF-8.
        raise ArtifactError(f"not {what}: {error}") from None


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def check(manifest: Manifest) -> None:
    """Refuse what no compiler writes.

    Raises:
        ArtifactError: with what is wrong.
    """
    if manifest.format != FORMAT:
        raise ArtifactError(
            f"manifest format {manifest.format}; this version reads {FORMAT}"
        )
    if manifest.form not in FORMS:
        raise ArtifactError(f"{manifest.form!r} is no form of code: {', '.join(FORMS)}")
    names = [manifest.name, manifest.target, *manifest.parameters]
    for name in names:
        if not _NAME.fullmatch(name):
            raise ArtifactError(f"{name!r} is no name")
    if len(manifest.parameters) > MAX_PARAMETERS:
        raise ArtifactError(f"{len(manifest.parameters)} parameters")
    if not 1 <= len(manifest.grid) <= MAX_GRID_AXES:
        raise ArtifactError(f"a grid of {len(manifest.grid)} axes")
    sizes = (manifest.threads, manifest.wave_size, manifest.max_extent)
    if manifest.threads > MAX_THREADS:
        raise ArtifactError(f"{manifest.threads} threads of a workgroup")
    if min(sizes) <= 0 or manifest.lds_bytes < 0 or manifest.code_bytes < 0:
        raise ArtifactError("a size that is not positive")
    _check_arguments(manifest)


def _check_arguments(manifest: Manifest) -> None:
    names = [row.name for row in manifest.bindings]
    names += [row.name for row in manifest.constants if row.parameter]
    if sorted(names) != sorted(manifest.parameters) or len({*names}) < len(names):
        raise ArtifactError("parameters and arguments of the code differ")
    for row in manifest.constants:
        if WORDS.get(row.dtype) != row.words:
            raise ArtifactError(f"`{row.name}` is {row.dtype} in {row.words} words")
    ranks = {row.name: len(row.shape) for row in manifest.bindings}
    for each in manifest.tensor_maps:
        _check_map(each, ranks.get(each.binding, 0))


def _check_map(row: TensorMapInfo, rank: int) -> None:
    """Refuse boxes that no memory has; ``rank`` is that of the binding."""
    fits = all(1 <= extent <= MOST_BOX for extent in row.box)
    if not fits or not 1 <= rank == len(row.box) <= MOST_DIMENSIONS:
        raise ArtifactError(f"boxes {row.box} of `{row.binding}`")
    if row.swizzle not in SWIZZLES:
        raise ArtifactError(f"a swizzle of {row.swizzle} bytes")
