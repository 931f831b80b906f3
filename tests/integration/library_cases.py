"""Small sizes of every kernel of the library, and settings that reach all its forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Settings = Mapping[str, int | str]

_OPEN = {"DYNAMIC": 1}
_ROWS = (_OPEN, {"LONG": 1, "WAVES_N": 2}, {"LONG": 1, "DYNAMIC": 1})
_BYTES = ("f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz")
_FINISHES = ("relu", "gelu", "silu", "sigmoid", "tanh")

_GEMM = (
    _OPEN,
    {"STAGED": 1},
    {"STAGED": 1, "DYNAMIC": 1, "BIAS": 1},
    {"DTYPE": "f32"},
    {"DTYPE": "i8", "STAGED": 1},
    {"DTYPE": "bf16", "RESULT": "bf16", "RESIDUAL": 1, "ACTIVATION": "gelu"},
    {"DTYPE": "f16", "RESULT": "f16", "BIAS": 1, "RESIDUAL": 1, "STAGED": 1},
    *({"DTYPE": dtype, "STAGED": 1} for dtype in _BYTES),
)
_SCORES = (
    {"CAUSAL": 1},
    {"WINDOW": 9, "DTYPE": "bf16"},
    {"SOFTCAP": 2, "GROUP": 2, "H": 4},
    {"ALIBI": 1, "CAUSAL": 1, "WINDOW": 20},
)
_HEADS = (*_SCORES, {"BIAS": 1}, {"LAYOUT": "bhsd", "GROUP": 2, "H": 4})
_MORE_KEYS = {"WINDOW": 70, "K2": 140}
"""So that no part of the keys that a window lets a query see has none."""
_RESULTS = ({"RESULT": "f16"}, {"DTYPE": "bf16", "RESULT": "bf16"})
_CONV = (
    {"STRIDE": 2, "PADDING": 1},
    {"DILATION": 2, "DTYPE": "bf16", "RESULT": "bf16"},
    {"IMAGES": "nchw", "FILTERS": "fchw", "RESULT": "f16"},
    {"FILTERS": "fhwc", "DTYPE": "f32"},
)
_FILTERED = (
    *(*_CONV, {"STAGED": 1}, {"STAGED": 1, "PADDING": 1, "IMAGES": "nchw"}),
    {"GROUPS": 2, "C": 6, "NF": 18},
)

SETTINGS: Mapping[str, tuple[Settings, ...]] = {
    "attention": ({"STAGED": 1},),
    "attention-causal": ({"STAGED": 1},),
    "attention-decode": ({"PAGED": 1}, {"SPLIT": 1}),
    "attention-heads": (*_HEADS, *_RESULTS, {"LSE": 1}),
    "attention-join": (_OPEN,),
    "attention-keys": _HEADS,
    "attention-queries": _HEADS,
    "attention-merge": (_OPEN,),
    "attention-split": (
        *({**row, **_MORE_KEYS} if "WINDOW" in row else row for row in _HEADS),
        *(*_RESULTS, {"SPLIT": 3, "K2": 140}),
    ),
    "attention-varlen": (*_SCORES, *_RESULTS, {"PAGED": 1}, {"TREE": 1, "PAGED": 1}),
    "attention-varlen-keys": _SCORES,
    "attention-varlen-queries": _SCORES,
    "conv-depthwise": (*_CONV, {"BIAS": 1}),
    "conv2d": (*_FILTERED, {"BIAS": 1}, {"STAGED": 1, "STRIDE": 2}),
    "conv2d-input": _FILTERED,
    "conv2d-weight": _FILTERED,
    "copy": (_OPEN, {"BLOCK_M": 8, "BLOCK_N": 128}),
    "cumsum": (
        _OPEN, {"LONG": 1}, {"EXCLUSIVE": 1, "LONG": 1}, {"REVERSE": 1},
    ),
    "elementwise": ({"FOLD": 1},),
    "cross-entropy": ({"SMOOTHED": 1}, _OPEN),
    "gated": (_OPEN, *({"ACTIVATION": w} for w in _FINISHES if w != "silu")),
    "gather": (_OPEN,),
    "scatter": (_OPEN,),
    "scatter-add": (_OPEN,),
    "gemm": (*_GEMM, *({"ACTIVATION": word} for word in _FINISHES)),
    "gemm-batched": _GEMM,
    "gemm-nn": _GEMM,
    "gemm-tn": _GEMM,
    "gemm-tt": _GEMM,
    "gemm-gated": (
        _OPEN, {"LAYOUT": "TN", "ACTIVATION": "gelu", "STAGED": 1},
        {"DTYPE": "bf16", "RESULT": "f16", "LAYOUT": "NN"},
    ),
    "gemm-grouped": (
        _OPEN, {"GATHERED": 1, "STAGED": 1}, {"GATED": 1, "RESULT": "f16"},
        {"DTYPE": "bf16", "STAGED": 1},
    ),
    "gemm-grouped-weights": (
        _OPEN, {"GATHERED": 1, "STAGED": 1}, {"DTYPE": "bf16", "RESULT": "bf16"},
    ),
    "gemm-mxfp": (
        *({"FORMAT": name} for name in ("f6e2m3fn", "f6e3m2fn", *_BYTES[:2])),
        {"SHUFFLED": "scales", "RESULT": "bf16"}, {"SHUFFLED": "all"}, {"STAGED": 1},
    ),
    "gemm-nbits": (
        _OPEN, {"BITS": 8, "GROUP": 0}, {"SIGNED": 0, "ZEROS": 1, "STAGED": 1},
        {"DTYPE": "bf16", "RESULT": "f16"}, {"DTYPE": "f32"},
    ),
    "gemm-split-k": (_OPEN, {"SPLIT": 2}, {"STAGED": 0, "SPLIT": 3}),
    "gemm-staged": (_OPEN, {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16}),
    "gemm-stream-k": (
        _OPEN, {"WORKERS": 3, "BLOCK_M": 32, "BLOCK_N": 32, "STAGED": 1},
        {"BLOCK_K": 16, "STAGED": 0},
    ),
    "gemv": (
        _OPEN, {"BIAS": 1, "RESIDUAL": 1, "ACTIVATION": "relu", "DTYPE": "bf16"},
        {"BIAS": 1}, {"RESIDUAL": 1, "DTYPE": "f32"}, {"RESULT": "bf16"},
    ),
    "gemv-gated": (_OPEN, {"DTYPE": "bf16", "RESULT": "f16", "ACTIVATION": "gelu"}),
    "layer-norm": _ROWS,
    "moe-combine": (_OPEN,),
    "moe-group": (_OPEN,),
    "moe-route": (_OPEN, {"SCORES": "sigmoid"}, {"NORMALISED": 0}),
    "quantize-rows": (*_ROWS, *({"DTYPE": name} for name in _BYTES[:2])),
    "rms-norm": _ROWS,
    "rotary": (_OPEN, {"INTERLEAVED": 1}, {"PAIRS": 5}),
    "softmax": _ROWS,
    "topk": (_OPEN,),
    "transpose": (_OPEN,),
}  # fmt: skip
"""Beside the usual ones; each names what differs, sizes among them."""

TILES = {"WAVES_M", "WAVES_N", "MMA_ROWS", "BLOCK_B", "BLOCK_H"} | {
    f"BLOCK_{dim}" for dim in ("M", "N", "K", "K2")
}
"""Settings that change how a kernel is cut, and not what it computes."""
