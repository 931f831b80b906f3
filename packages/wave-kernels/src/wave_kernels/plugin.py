"""The kernels of this package, for ``wave run NAME``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.plugin import CommandSpec, KernelSpec, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

REQUIRES_API = (1, 0)

_CASES = "wave_kernels.cases"

KERNELS: tuple[KernelSpec, ...] = (
    KernelSpec("attention", f"{_CASES}.attention:attention_case", "flash attention"),
    KernelSpec(
        "attention-causal",
        f"{_CASES}.attention:causal_attention_case",
        "flash attention, keys up to the query",
    ),
    KernelSpec(
        "attention-decode",
        f"{_CASES}.decode_attention:decode_attention_case",
        "flash attention of one query a sequence, in parts",
    ),
    KernelSpec(
        "attention-heads",
        f"{_CASES}.head_attention:head_attention_case",
        "flash attention over heads",
    ),
    KernelSpec(
        "attention-join",
        f"{_CASES}.attention_join:join_case",
        "attention to two sets of keys, from that to each",
    ),
    KernelSpec(
        "attention-keys",
        f"{_CASES}.attention_gradients:key_gradient_case",
        "gradients of attention's keys and values",
    ),
    KernelSpec(
        "attention-merge",
        f"{_CASES}.decode_attention:merge_case",
        "parts of sequences, weighted by their sums",
    ),
    KernelSpec(
        "attention-queries",
        f"{_CASES}.attention_gradients:query_gradient_case",
        "gradient of attention's queries",
    ),
    KernelSpec(
        "attention-split",
        f"{_CASES}.split_attention:split_attention_case",
        "flash attention of few queries, in parts",
    ),
    KernelSpec(
        "attention-varlen",
        f"{_CASES}.ragged_attention:ragged_attention_case",
        "flash attention of sequences of different lengths",
    ),
    KernelSpec(
        "attention-varlen-keys",
        f"{_CASES}.ragged_gradients:ragged_key_gradient_case",
        "gradients of such sequences' keys and values",
    ),
    KernelSpec(
        "attention-varlen-queries",
        f"{_CASES}.ragged_gradients:ragged_query_gradient_case",
        "gradient of such sequences' queries",
    ),
    KernelSpec(
        "conv-depthwise",
        f"{_CASES}.conv:depthwise_case",
        "convolution of each channel with a filter of its own",
    ),
    KernelSpec("conv2d", f"{_CASES}.conv:conv_case", "convolution as a matrix product"),
    KernelSpec(
        "conv2d-input",
        f"{_CASES}.conv:conv_input_case",
        "gradient of a convolution's images",
    ),
    KernelSpec(
        "conv2d-weight",
        f"{_CASES}.conv:conv_weight_case",
        "gradient of a convolution's filters",
    ),
    KernelSpec("copy", f"{_CASES}.copy:copy_case", "b = a"),
    KernelSpec("cumsum", f"{_CASES}.ordered:cumsum_case", "running sums of each row"),
    KernelSpec(
        "elementwise",
        f"{_CASES}.elementwise:elementwise_case",
        "a program of elements",
    ),
    KernelSpec(
        "cross-entropy",
        f"{_CASES}.cross_entropy:cross_entropy_case",
        "cross entropy of each row",
    ),
    KernelSpec(
        "gated",
        f"{_CASES}.gated:gated_case",
        "an activation of one half times the other",
    ),
    KernelSpec("gather", f"{_CASES}.gather:gather_case", "rows that indices pick"),
    KernelSpec(
        "scatter",
        f"{_CASES}.scatter:scatter_case",
        "rows in place of those of a table",
    ),
    KernelSpec(
        "scatter-add",
        f"{_CASES}.scatter:scatter_add_case",
        "rows added to those of a table",
    ),
    KernelSpec("gemm", f"{_CASES}.gemm:gemm_case", "c = a b^T"),
    KernelSpec(
        "gemm-batched", f"{_CASES}.gemm:batched_gemm_case", "c[i] = a[i] b[i]^T"
    ),
    KernelSpec(
        "gemm-gated",
        f"{_CASES}.gated_gemm:gated_gemm_case",
        "silu(a gate^T) * (a up^T)",
    ),
    KernelSpec(
        "gemm-grouped",
        f"{_CASES}.grouped_gemm:grouped_gemm_case",
        "c = a b^T, a b for each group of rows",
    ),
    KernelSpec(
        "gemm-grouped-weights",
        f"{_CASES}.grouped_weights:grouped_weights_case",
        "c = a^T b for each group of rows",
    ),
    KernelSpec("gemv", f"{_CASES}.gemv:gemv_case", "c = a b^T of few rows"),
    KernelSpec(
        "gemv-gated",
        f"{_CASES}.gemv:gated_gemv_case",
        "silu(a gate^T) * (a up^T) of few rows",
    ),
    KernelSpec(
        "gemm-mxfp",
        f"{_CASES}.gemm_mxfp:gemm_mxfp_case",
        "c = a b^T of MXFP4, MXFP6 or MXFP8",
    ),
    KernelSpec(
        "gemm-nbits",
        f"{_CASES}.gemm_nbits:gemm_nbits_case",
        "c = a b^T with weights of 4 or 8 bits",
    ),
    KernelSpec("gemm-nn", f"{_CASES}.gemm:gemm_nn_case", "c = a b"),
    KernelSpec(
        "gemm-split-k",
        f"{_CASES}.gemm:split_k_case",
        "c = a b^T by several workgroups a tile",
    ),
    KernelSpec(
        "gemm-staged",
        f"{_CASES}.gemm:staged_gemm_case",
        "c = a b^T through LDS by hand",
    ),
    KernelSpec(
        "gemm-stream-k",
        f"{_CASES}.gemm:stream_k_case",
        "c = a b^T by as many workgroups as there are units",
    ),
    KernelSpec("gemm-tn", f"{_CASES}.gemm:gemm_tn_case", "c = a^T b"),
    KernelSpec("gemm-tt", f"{_CASES}.gemm:gemm_tt_case", "c = a^T b^T"),
    KernelSpec(
        "layer-norm", f"{_CASES}.norms:layer_norm_case", "layer norm of each row"
    ),
    KernelSpec(
        "moe-combine",
        f"{_CASES}.experts:combine_case",
        "weighted sums of what experts give a token",
    ),
    KernelSpec(
        "moe-group",
        f"{_CASES}.experts:group_tokens_case",
        "places of tokens, expert by expert",
    ),
    KernelSpec(
        "moe-route",
        f"{_CASES}.experts:route_case",
        "experts of each token, and their weights",
    ),
    KernelSpec(
        "quantize-rows",
        f"{_CASES}.quantize:quantize_case",
        "rows as bytes, with a scale each",
    ),
    KernelSpec("rms-norm", f"{_CASES}.norms:rms_norm_case", "RMS norm of each row"),
    KernelSpec("rotary", f"{_CASES}.rotary:rotary_case", "rotary embedding of heads"),
    KernelSpec("softmax", f"{_CASES}.softmax:softmax_case", "softmax of each row"),
    KernelSpec(
        "topk", f"{_CASES}.ordered:topk_case", "the greatest elements of each row"
    ),
    KernelSpec(
        "transpose", f"{_CASES}.transpose:transpose_case", "matrices, transposed"
    ),
)


@hookimpl
def wave_register_kernels() -> Iterable[KernelSpec]:
    """The kernels by name."""
    return KERNELS


@hookimpl
def wave_register_commands() -> Iterable[CommandSpec]:
    """``wave build-kernels`` makes wheels of what the functions need."""
    return (
        CommandSpec(
            "build-kernels",
            "wave_kernels.building.command:build_kernels",
            "compile the kernels of the functions into a wheel",
        ),
    )
