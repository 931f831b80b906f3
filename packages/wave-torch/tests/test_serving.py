"""The backend for SGLang against torch, on a stand-in for what it is given."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch
import torch.nn.functional as torch_functions

from wave_torch.serving import ServedAttention

HEADS, KV_HEADS, WIDTH = 4, 2, 8
LENGTHS = [5, 9, 1]


class Pool:
    """Keys and values of one layer, by slot."""

    def __init__(self, slots):
        self.keys, self.values = torch.full(
            (2, slots, KV_HEADS, WIDTH), torch.nan
        ).half()

    def set_kv_buffer(self, layer, slots, keys, values):
        self.keys[slots], self.values[slots] = keys, values

    def get_key_buffer(self, layer):
        return self.keys

    def get_value_buffer(self, layer):
        return self.values


class WindowPool(Pool):
    """The same of a layer of windows, whose slots have other numbers."""

    layers_mapping: ClassVar = {0: (0, True)}

    def __init__(self, slots):
        super().__init__(slots)
        self.places = torch.randperm(slots)

    def translate_loc_from_full_to_swa(self, slots):
        return self.places[slots]

    def set_kv_buffer(self, layer, slots, keys, values):
        old = isinstance(slots, torch.Tensor)
        own = self.places[slots] if old else slots.swa_loc
        super().set_kv_buffer(layer, own, keys, values)


class Written:
    """Slots as SGLang writes to several pools at once."""

    @classmethod
    def for_batch(cls, batch, *, swa_loc):
        return SimpleNamespace(loc=batch.out_cache_loc, swa_loc=swa_loc)


class Mode:
    def __init__(self, name):
        self.name = name

    def is_decode(self):
        return self.name == "decode"

    def is_target_verify(self):
        return self.name == "verify"


LAYER = SimpleNamespace(
    tp_q_head_num=HEADS, qk_head_dim=WIDTH, layer_id=0, scaling=0.3, logit_cap=0.0,
    sliding_window_size=-1, is_cross_attention=False,
    attn_type=SimpleNamespace(value="decoder"),
)  # fmt: skip


def run(mode, news, tree=None, **layer):
    """What the backend gives for the last keys of sequences, and what torch does."""
    slots = torch.randperm(40)
    tokens = torch.zeros(6, 20, dtype=torch.int32)
    pool, requests = Pool(40), torch.tensor([4, 1, 2])
    shapes = [((n, HEADS, WIDTH), *[(n, KV_HEADS, WIDTH)] * 2) for n in LENGTHS]
    every = [[torch.randn(shape).half() for shape in each] for each in shapes]
    at, fresh, wanted = 0, [], []
    layer = SimpleNamespace(**(vars(LAYER) | layer))
    for i, ((q, k, v), new) in enumerate(zip(every, news, strict=True)):
        n = q.shape[0]
        own = slots[at : at + n]
        at += n
        tokens[requests[i], :n] = own.int()
        pool.set_kv_buffer(layer, own[:-new], k[:-new], v[:-new])
        fresh.append((q[-new:], k[-new:], v[-new:], own[-new:]))
        place, key = torch.arange(n - new, n)[:, None], torch.arange(n)
        seen = key <= place
        if tree is not None:
            seen = torch.cat([torch.ones(new, n - new).bool(), tree[i]], 1)
        if layer.sliding_window_size > -1:
            seen &= key >= place - layer.sliding_window_size
        heads = (x.transpose(0, 1)[None].double() for x in (q[-new:], k, v))
        right = torch_functions.scaled_dot_product_attention(
            *heads, attn_mask=seen, scale=layer.scaling, enable_gqa=True
        )
        wanted.append((seen, right[0].transpose(0, 1).flatten(1)))
    q, k, v, own = (torch.cat(each) for each in zip(*fresh, strict=True))
    drafts = news[0] if mode == "verify" else 0
    mask = torch.cat([seen.flatten() for seen, _ in wanted])
    batch = SimpleNamespace(
        forward_mode=Mode(mode),
        seq_lens=torch.tensor(LENGTHS) - drafts,
        extend_seq_lens=torch.tensor(news),
        req_pool_indices=requests,
        out_cache_loc=own,
        spec_info=SimpleNamespace(draft_token_num=drafts, custom_mask=mask),
    )
    backend = ServedAttention(
        SimpleNamespace(
            req_to_token_pool=SimpleNamespace(req_to_token=tokens),
            token_to_kv_pool=pool,
        )
    )
    backend.init_forward_metadata(batch)
    forward = backend.forward_decode if mode == "decode" else backend.forward_extend
    found = forward(q.flatten(1), k, v, layer, batch)
    return found, torch.cat([right for _, right in wanted])


def check(found, wanted):
    assert found.shape == wanted.shape
    torch.testing.assert_close(found.double(), wanted, atol=6e-3, rtol=0)


@pytest.mark.parametrize("window", [-1, 2])
@pytest.mark.parametrize(
    ("mode", "news"), [("decode", [1, 1, 1]), ("extend", [2, 9, 1])]
)
def test_passes_over_a_cache(mode, news, window):
    check(*run(mode, news, sliding_window_size=window))


@pytest.mark.parametrize(
    ("mode", "news"), [("decode", [1, 1, 1]), ("extend", [2, 9, 1])]
)
def test_layers_of_windows_have_a_pool_of_their_own(mode, news, monkeypatch):
    pools = SimpleNamespace(KVWriteLoc=Written)
    monkeypatch.setitem(sys.modules, "sglang.srt.mem_cache.memory_pool", pools)
    monkeypatch.setattr(f"{__name__}.Pool", WindowPool)
    check(*run(mode, news, sliding_window_size=2))


def test_drafts_are_verified(monkeypatch):
    monkeypatch.setattr(f"{__name__}.LENGTHS", [5, 9, 3])
    tree = [torch.eye(3).bool() | (torch.rand(3, 3) < 0.5).tril() for _ in range(3)]
    check(*run("verify", [3, 3, 3], tree))


def test_other_attention_is_refused():
    with pytest.raises(NotImplementedError, match="not causal self-attention"):
        run("decode", [1, 1, 1], is_cross_attention=True)
