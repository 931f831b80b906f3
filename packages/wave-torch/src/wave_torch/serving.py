"""Wave's attention where SGLang serves a model: ``--attention-backend wave_torch``.

`register` makes the name known in the process that serves. Nothing of SGLang is
imported before. CUDA graphs are not captured: serve with ``--disable-cuda-graph``.
"""

# SGLang's classes have no types here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch

from wave_kernels.functions import attention_decode, attention_varlen

NAME = "wave_torch"

_ATTENTION = "sglang.srt.layers.attention"

_POOLS = "sglang.srt.mem_cache.memory_pool"


def register(name: str = NAME) -> None:
    """Let SGLang's registry make the backend under this name.

    Raises:
        ImportError: SGLang is not installed.
    """
    # Who calls this runs inside SGLang, which is the host and no dependency.
    registry = import_module(f"{_ATTENTION}.attention_registry")
    base = import_module(f"{_ATTENTION}.base_attn_backend").AttentionBackend
    served = type("WaveTorchBackend", (ServedAttention, base), {})
    registry.register_attention_backend(name)(served)


@dataclass(frozen=True)
class Step:
    """Where the keys of a forward pass lie, and which of them its queries see."""

    query_starts: torch.Tensor
    key_starts: torch.Tensor
    table: torch.Tensor
    max_queries: int
    max_keys: int
    tree: torch.Tensor | None

    @classmethod
    def of(cls, batch: Any, tokens: torch.Tensor) -> Step:
        """The step of a batch, whose requests have slots in rows of ``tokens``."""
        lengths, drafts = batch.seq_lens.long(), 1
        queries = torch.ones_like(lengths)
        verifies = batch.forward_mode.is_target_verify()
        if verifies:
            drafts = batch.spec_info.draft_token_num
            lengths, queries = lengths + drafts, queries * drafts
        elif not batch.forward_mode.is_decode():
            queries = batch.extend_seq_lens.long()
        longest = int(lengths.max())
        rows = tokens[batch.req_pool_indices.long(), :longest]
        held = torch.arange(longest, device=rows.device) < lengths[:, None]
        mask = batch.spec_info.custom_mask if verifies else None
        return cls(
            _starts(queries),
            _starts(lengths),
            rows[held].int(),
            int(queries.max()),
            longest,
            None if mask is None else _among(mask, lengths, drafts),
        )


@dataclass(frozen=True)
class Windows:
    """Where layers of sliding windows keep keys, if in a pool of their own.

    It holds the last keys of each request; the place of one that it gave away is 0,
    and hidden by the window.
    """

    table: torch.Tensor
    new: torch.Tensor | None

    @classmethod
    def of(cls, pool: Any, step: Step, slots: torch.Tensor | None) -> Windows | None:
        """That of a step whose new keys get ``slots``; none where there is one pool."""
        if not hasattr(pool, "layers_mapping"):
            return None
        place = pool.translate_loc_from_full_to_swa
        new = None if slots is None else place(slots)
        return cls(place(step.table.long()).clamp(min=0).int(), new)


def _starts(lengths: torch.Tensor) -> torch.Tensor:
    """The first row of each sequence, and an end."""
    return torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).int()


def _among(mask: torch.Tensor, lengths: torch.Tensor, drafts: int) -> torch.Tensor:
    """Of a mask of all keys, one sequence behind the other, the columns of drafts."""
    first = (lengths * drafts).cumsum(0) - lengths * drafts
    ends = torch.arange(1, drafts + 1, device=mask.device) * lengths[:, None]
    last = (first[:, None] + ends).flatten()[:, None]
    return mask[last - drafts + torch.arange(drafts, device=mask.device)].bool()


class ServedAttention:
    """What SGLang asks of a backend: decode, extend, and verification of drafts."""

    def __init__(self, model_runner: Any) -> None:
        super().__init__()
        self.tokens = model_runner.req_to_token_pool
        self.pool = model_runner.token_to_kv_pool
        self.forward_metadata: Any = None
        self.windows: Windows | None = None

    def init_forward_metadata(self, forward_batch: Any) -> None:
        """Prepare what all layers of a pass share."""
        step = Step.of(forward_batch, self.tokens.req_to_token)
        self.forward_metadata = step
        self.windows = Windows.of(self.pool, step, forward_batch.out_cache_loc)

    def forward_decode(self, *arguments: Any, **words: Any) -> torch.Tensor:
        """One query a request."""
        query, layer = self._entered(*arguments, **words)
        step: Step = self.forward_metadata
        keys, values = self._cache(layer)
        table = self._table(layer, step)
        words = {"max_keys": step.max_keys, "table": table, **_variant(layer)}
        found = attention_decode(query, keys, values, step.key_starts, **words)
        return found.flatten(1)

    def forward_extend(self, *arguments: Any, **words: Any) -> torch.Tensor:
        """Several queries a request, behind earlier keys; drafts of a tree."""
        query, layer = self._entered(*arguments, **words)
        step: Step = self.forward_metadata
        found = attention_varlen(
            query,
            *self._cache(layer),
            step.query_starts,
            step.key_starts,
            max_queries=step.max_queries,
            max_keys=step.max_keys,
            table=self._table(layer, step),
            tree=step.tree,
            causal=step.tree is None,
            **_variant(layer),
        )
        return found.flatten(1)

    def _entered(
        self,
        q: torch.Tensor,
        k: torch.Tensor | None,
        v: torch.Tensor | None,
        layer: Any,
        forward_batch: Any,
        save_kv_cache: bool = True,  # noqa: FBT001, FBT002 - SGLang's form
    ) -> tuple[torch.Tensor, Any]:
        """Queries by heads, their keys and values in the cache."""
        if layer.is_cross_attention or layer.attn_type.value != "decoder":
            msg = (
                f"layer {layer.layer_id} is not causal self-attention: serve its model"
                " with another `--attention-backend`"
            )
            raise NotImplementedError(msg)
        if save_kv_cache and k is not None:
            self.pool.set_kv_buffer(layer, self._slots(forward_batch), k, v)
        return q.reshape(-1, layer.tp_q_head_num, layer.qk_head_dim), layer

    def _slots(self, batch: Any) -> Any:
        """Where new keys go, as the pool takes it."""
        if self.windows is None:
            return batch.out_cache_loc
        places = import_module(_POOLS).KVWriteLoc
        return places.for_batch(batch, swa_loc=self.windows.new)

    def _table(self, layer: Any, step: Step) -> torch.Tensor:
        """Where keys lie in the pool of a layer."""
        if self.windows is None:
            return step.table
        _, of_window = self.pool.layers_mapping[layer.layer_id]
        return self.windows.table if of_window else step.table

    def _cache(self, layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
        keys = self.pool.get_key_buffer(layer.layer_id)
        return keys, self.pool.get_value_buffer(layer.layer_id)


def _variant(layer: Any) -> dict[str, Any]:
    """What a layer does to scores; SGLang's windows do not count a query's own key."""
    window, cap = layer.sliding_window_size, layer.logit_cap
    return {
        "scale": layer.scaling,
        "softcap": cap if cap and cap > 0 else None,
        "window": window + 1 if window is not None and window > -1 else None,
        "checked": False,
    }
