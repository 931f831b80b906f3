"""What is compared: kernels at their sizes, and what Triton may choose among.

Each side gets the same sizes and element types. Triton's configurations are those that
its users list for such kernels; the fastest by the model counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Peer:
    """A kernel of `triton_code` and how it is compiled.

    Attributes:
        kernel: Its name.
        constants: Values of its ``constexpr`` parameters.
        options: Waves and stages, by Triton's names.
    """

    kernel: str
    constants: dict[str, int]
    options: dict[str, int]

    @property
    def title(self) -> str:
        """The configuration in words."""
        blocks = "x".join(
            str(self.constants[name])
            for name in ("BM", "BN", "BK")
            if name in self.constants
        )
        return f"{blocks}, {self.options['num_warps']} waves"


@dataclass(frozen=True)
class Job:
    """A kernel at one size, on both sides.

    Attributes:
        title: As the table calls it.
        kernel: The name, on both sides.
        shape: The sizes that ours takes.
        types: Triton's parameters and their types; pointers come first.
        buffers: Shapes of the pointers' arrays.
        numbers: Values of the others.
        peers: Configurations for Triton.
        grid: A size for each axis, and the constant that is its tile; "" where each
            workgroup has one.
        flat: Whether the axes are counted as one.
    """

    title: str
    kernel: str
    shape: dict[str, int]
    types: dict[str, str]
    buffers: list[tuple[int, ...]]
    numbers: list[int]
    peers: list[Peer]
    grid: tuple[tuple[int, str], ...] = ()
    flat: bool = False

    def grid_of(self, peer: Peer) -> tuple[int, int, int]:
        """Workgroups per axis."""
        counts = [
            size // peer.constants[name] if name else size for size, name in self.grid
        ]
        counts = [prod(counts)] if self.flat else counts
        x, y, z = [*counts, 1, 1][:3]
        return x, y, z


def peers(
    kernel: str,
    names: tuple[str, ...],
    *configurations: tuple[tuple[int, ...], int],
    **more: int,
) -> list[Peer]:
    """A peer for each pair of block sizes and waves."""
    return [
        Peer(
            kernel,
            dict(zip(names, blocks, strict=True)) | more,
            {"num_warps": waves, "num_stages": 2, "matrix_instr_nonkdim": 16},
        )
        for blocks, waves in configurations
    ]


def gemm_job(m: int, n: int, k: int) -> Job:
    """``c = a b^T``, f16 in, f32 out."""
    return Job(
        f"gemm {m}x{n}x{k}",
        "gemm",
        {"M": m, "N": n, "K": k},
        {"a": "*fp16", "b": "*fp16", "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"},
        [(m, k), (n, k), (m, n)],
        [m, n, k],
        peers(
            "gemm",
            ("BM", "BN", "BK"),
            ((128, 256, 64), 8),
            ((256, 256, 64), 8),
            ((256, 256, 32), 8),
            TOGETHER=8,
        ),
        grid=((m, "BM"), (n, "BN")),
        flat=True,
    )


def attention_job(heads: int, length: int, depth: int) -> Job:
    """Heads of their own, f16 in, f32 out, no mask."""
    return Job(
        f"attention d{depth}, {heads} x {length}",
        "attention",
        {"B": heads, "M": length, "K2": length, "K1": depth, "N": depth},
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "o": "*fp32", "S": "i32"},
        [(heads, length, depth)] * 4,
        [length],
        peers(
            "attention",
            ("BM", "BN"),
            ((128, 64), 4),
            ((256, 64), 8),
            ((128, 128), 4),
            D=depth,
        ),
        grid=((length, "BM"), (heads, "")),
    )


def softmax_job(rows: int, columns: int) -> Job:
    """Of each row, f32."""
    return Job(
        f"softmax {rows}x{columns}",
        "softmax",
        {"M": rows, "N": columns},
        {"x": "*fp32", "y": "*fp32", "N": "i32"},
        [(rows, columns)] * 2,
        [columns],
        peers("softmax", ("BN",), ((columns,), 4), ((columns,), 8)),
        grid=((rows, ""),),
    )


JOBS = {
    "gemm": gemm_job(4096, 4096, 4096),
    "attention-d64": attention_job(64, 4096, 64),
    "attention-d128": attention_job(64, 4096, 128),
    "softmax": softmax_job(4096, 4096),
}
