"""2-D convolution as a matrix product, without building the matrices.

    python examples/conv2d.py

The kernel is a GEMM: a row of the product is an output pixel, a column a filter, and
the contracted dimension walks over the filter's positions and channels. The mappings
say where in the image, the filters and the output an element of that product lies.
"""

from __future__ import annotations

import torch

import wave_core.lang as tkl
import wave_core.lang as tkw

# The image: N pictures of H x W pixels with C channels; NF filters of HF x WF x C.
N, H, W, C = tkl.sym.N, tkl.sym.H, tkl.sym.W, tkl.sym.C
HF, WF, NF = tkl.sym.HF, tkl.sym.WF, tkl.sym.NF
H_OUT, W_OUT = tkl.sym.H_OUT, tkl.sym.W_OUT
SZ_OUT = H_OUT * W_OUT
# The matrix product: M = N * H_OUT * W_OUT, K = HF * WF * C.
M, K = tkl.sym.M, tkl.sym.K
BLOCK_M, BLOCK_NF, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_NF, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

# Iterators stand for the two indices of a register.
i = tkw.IndexMapping.iterator(0)
j = tkw.IndexMapping.iterator(1)


def general_mappings(stride):
    """Pictures and filters of any shape: rows of H with rows of the filter."""
    x_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={
            N: i // SZ_OUT,
            C: j % C,
            H: (i % SZ_OUT) // W_OUT * stride + (j // C) // WF,
            W: (i % SZ_OUT) % W_OUT * stride + (j // C) % WF,
        },
        outputs={M: i, K: j},
    )
    w_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={NF: i % NF, C: j % C, HF: (j // C) // WF, WF: (j // C) % WF},
        outputs={NF: i, K: j},
    )
    return x_mapping, w_mapping, H_OUT, W_OUT


def square_mappings(stride):
    """As the slides print it, rows and columns swapped: right for squares only."""
    x_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={
            N: i // SZ_OUT,
            C: j % C,
            H: (i % SZ_OUT) % W_OUT * stride + (j // C) % WF,
            W: (i % SZ_OUT) // W_OUT * stride + (j // C) // WF,
        },
        outputs={M: i, K: j},
    )
    w_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={NF: i % NF, C: j % C, HF: (j // C) % WF, WF: (j // C) // WF},
        outputs={NF: i, K: j},
    )
    return x_mapping, w_mapping, W_OUT, H_OUT


constraints = [
    tkw.WorkgroupConstraint(M, BLOCK_M, 0),
    tkw.WorkgroupConstraint(NF, BLOCK_NF, 1),
    tkw.TilingConstraint(K, BLOCK_K),
    tkw.WaveConstraint(M, BLOCK_M / 2),
    tkw.WaveConstraint(NF, BLOCK_NF / 2),
    tkw.HardwareConstraint(),
]


def conv_kernel(mappings):
    x_mapping, w_mapping, rows, columns = mappings
    out_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={M: i, NF: j},
        outputs={
            N: i // SZ_OUT,
            rows: (i % SZ_OUT) // W_OUT,
            columns: (i % SZ_OUT) % W_OUT,
            NF: j,
        },
    )

    @tkw.wave(constraints)
    def conv(
        x: tkl.Memory[N, H, W, C, ADDRESS_SPACE, tkl.f16],
        we: tkl.Memory[HF, WF, C, NF, ADDRESS_SPACE, tkl.f16],
        out: tkl.Memory[N, H_OUT, W_OUT, NF, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        c_reg = tkl.Register[M, NF, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, NF, tkl.f32]) -> tkl.Register[M, NF, tkl.f32]:
            a_reg = tkw.read(x, mapping=x_mapping)
            b_reg = tkw.read(we, mapping=w_mapping)
            acc = tkw.mma(a_reg, b_reg, acc)
            return acc

        tkw.write(repeat, out, mapping=out_mapping)

    return conv


def build(
    image=(2, 10, 13, 8), filters=(3, 2, 8, 24), stride=1, *, square=False, **options
):
    """The compiled kernel, arguments for it, and what the last of them must become."""
    n, h, w, c = image
    hf, wf, _, nf = filters
    h_out, w_out = (h - hf) // stride + 1, (w - wf) // stride + 1
    sizes = {N: n, H: h, W: w, C: c, HF: hf, WF: wf, NF: nf, H_OUT: h_out, W_OUT: w_out}
    product = {M: n * h_out * w_out, K: hf * wf * c}
    tiles = {BLOCK_M: 64, BLOCK_NF: 32, BLOCK_K: 32, ADDRESS_SPACE: tkl.GLOBAL_MEMORY}
    options = tkw.WaveCompileOptions(
        subs=sizes | product | tiles, **{"device": "sim", **options}
    )
    mappings = square_mappings(stride) if square else general_mappings(stride)
    x = torch.randn(image, dtype=torch.float16)
    we = torch.randn(filters, dtype=torch.float16)
    out = torch.full((n, h_out, w_out, nf), torch.nan)
    # torch wants channels second.
    expected = torch.nn.functional.conv2d(
        x.float().permute(0, 3, 1, 2), we.float().permute(3, 2, 0, 1), stride=stride
    ).permute(0, 2, 3, 1)
    kernel = tkw.wave_compile(options, conv_kernel(mappings))
    return kernel, (x, we, out), expected


def main(**options):
    squares = {"image": (2, 9, 9, 8), "filters": (3, 3, 8, 24), "square": True}
    runs = {"general": {}, "stride 2": {"stride": 2}, "square": squares}
    for name, arguments in runs.items():
        kernel, tensors, expected = build(**arguments, **options)
        kernel(*tensors)
        torch.testing.assert_close(tensors[-1], expected, rtol=1e-3, atol=1e-3)
        print(f"{name:8} {kernel.signature}: agrees with torch")


if __name__ == "__main__":
    main()
