"""Shapes of the registered kernels."""

from __future__ import annotations

SMALL = {
    "attention": {"B": 2, "M": 33, "N": 17, "K1": 20, "K2": 40},
    "attention-causal": {"B": 2, "M": 70, "N": 17, "K1": 20, "K2": 65},
    "attention-decode": {"B": 2, "M": 3, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "attention-heads": {"B": 2, "M": 33, "H": 3, "N": 17, "K1": 20, "K2": 40},
    "attention-join": {"H": 3, "M": 33, "N": 70},
    "attention-merge": {"B": 2, "M": 3, "N": 70, "SPLIT": 3},
    "attention-keys": {"B": 1, "M": 33, "H": 2, "N": 17, "K1": 20, "K2": 40},
    "attention-queries": {"B": 1, "M": 33, "H": 2, "N": 17, "K1": 20, "K2": 40},
    "attention-split": {"B": 1, "M": 3, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "attention-varlen": {"B": 2, "M": 33, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "attention-varlen-keys": {"B": 2, "M": 33, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "attention-varlen-queries": {"B": 2, "M": 33, "H": 2, "N": 17, "K1": 20, "K2": 66},
    "conv-depthwise": {"N": 2, "H": 7, "W": 9, "C": 65, "HF": 3, "WF": 2},
    "conv2d": {"N": 2, "H": 7, "W": 9, "C": 3, "HF": 3, "WF": 2, "NF": 17},
    "conv2d-input": {"N": 1, "H": 5, "W": 7, "C": 3, "HF": 2, "WF": 2, "NF": 17},
    "conv2d-weight": {"N": 2, "H": 7, "W": 9, "C": 3, "HF": 3, "WF": 2, "NF": 17},
    "copy": {"M": 19, "N": 70},
    "cumsum": {"M": 5, "N": 70},
    "elementwise": {"M": 5, "N": 70},
    "cross-entropy": {"M": 5, "N": 70},
    "gated": {"M": 5, "N": 70},
    "gather": {"M": 5, "N": 70, "ROWS": 9},
    "gemm": {"M": 33, "N": 17, "K": 50},
    "gemm-batched": {"B": 3, "M": 33, "N": 17, "K": 50},
    "gemm-gated": {"M": 33, "N": 17, "K": 50},
    "gemm-grouped": {"E": 2, "M": 33, "N": 17, "K": 20},
    "gemm-grouped-weights": {"E": 2, "M": 17, "N": 9, "K": 9},
    "gemm-mxfp": {"M": 33, "N": 17, "K": 96},
    "gemm-nbits": {"M": 5, "N": 33, "K": 150},
    "gemm-nn": {"M": 33, "N": 17, "K": 50},
    "gemm-split-k": {"M": 33, "N": 17, "K": 50},
    "gemm-staged": {"M": 33, "N": 17, "K": 50},
    "gemm-stream-k": {"M": 33, "N": 17, "K": 50},
    "gemm-tn": {"M": 33, "N": 17, "K": 50},
    "gemm-tt": {"M": 33, "N": 17, "K": 50},
    "layer-norm": {"M": 5, "N": 70},
    "moe-combine": {"M": 5, "N": 70, "TOP": 3},
    "moe-group": {"M": 5, "E": 2, "TOP": 3},
    "moe-route": {"M": 5, "E": 70, "TOP": 3},
    "quantize-rows": {"M": 5, "N": 70},
    "rms-norm": {"M": 5, "N": 70},
    "rotary": {"M": 5, "H": 3, "D": 20},
    "scatter": {"M": 5, "N": 70, "ROWS": 9},
    "scatter-add": {"M": 33, "N": 70, "ROWS": 9},
    "softmax": {"M": 5, "N": 70},
    "topk": {"M": 5, "N": 70, "TOP": 3},
    "transpose": {"B": 2, "M": 65, "N": 70},
}
"""Small shapes, whose last tiles are cut."""

ENOUGH = {name: SMALL[name] for name in ("gemm-split-k", "gemm-stream-k")}
"""Of kernels whose own shapes are a chip full of workgroups that wait for each other:
the lane simulator takes ten seconds for what two tiles say as well."""
