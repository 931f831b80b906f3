"""The backend for SGLang on SGLang's own classes, against its attention by torch.

Runs where `sglang` is installed, with what it imports on the way to these classes; of
its kernels for GPUs nothing is called.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest
import torch

from wave_torch.serving import NAME, register

pytest.importorskip("sglang", reason="sglang 0.5.23 is not installed")

# Modules of SGLang's use what torch warns of.
pytestmark = pytest.mark.filterwarnings("ignore")

HEADS, KV_HEADS, WIDTH, SLOTS = 4, 2, 8, 64
LENGTHS = [5, 9, 1]


def module(name):
    return import_module(f"sglang.srt.{name}")


def runner():
    """What backends ask a runner for: pools of SGLang's, keys and values random."""
    pools = module("mem_cache.memory_pool")
    kept = pools.MHATokenToKVPool(
        SLOTS, 1, torch.float16, KV_HEADS, WIDTH, 1, "cpu", enable_memory_saver=False
    )
    for buffer in (*kept.k_buffer, *kept.v_buffer):
        buffer.copy_(torch.randn(buffer.shape))
    tokens = pools.ReqToTokenPool(8, 32, "cpu", enable_memory_saver=False)
    slots = 1 + torch.randperm(SLOTS)
    tokens.req_to_token.copy_(slots[torch.randint(SLOTS, tokens.req_to_token.shape)])
    return SimpleNamespace(
        req_to_token_pool=tokens,
        token_to_kv_pool=kept,
        device="cpu",
        use_mla_backend=False,
    )


def batch(mode, news, runner):
    """A pass whose last keys are new, in slots of their own."""
    info = module("model_executor.forward_batch_info")
    requests, lengths = torch.tensor([4, 1, 2]), torch.tensor(LENGTHS)
    fresh = torch.randperm(SLOTS)[: sum(news)] + 1
    at = 0
    for request, length, new in zip(requests, LENGTHS, news, strict=True):
        own = fresh[at : at + new]
        runner.req_to_token_pool.write((request, slice(length - new, length)), own)
        at += new
    made = info.ForwardBatch(
        forward_mode=getattr(info.ForwardMode, mode),
        batch_size=len(LENGTHS),
        input_ids=torch.zeros(sum(news), dtype=torch.int64),
        req_pool_indices=requests,
        seq_lens=lengths,
        out_cache_loc=fresh,
        seq_lens_sum=sum(LENGTHS),
    )
    made.extend_seq_lens = torch.tensor(news)
    made.extend_prefix_lens = lengths - made.extend_seq_lens
    return made


def layer(window):
    attention = module("layers.radix_attention").RadixAttention
    return attention(HEADS, WIDTH, 0.3, KV_HEADS, 0, sliding_window_size=window)


def passed(backend, step, layer, rows):
    """What a backend gives for a pass, through the method that models call."""
    backend.init_forward_metadata(step)
    return backend.forward(*(each.clone() for each in rows), layer, step)


@pytest.mark.parametrize("window", [-1, 2])
@pytest.mark.parametrize(
    ("mode", "news"), [("DECODE", [1, 1, 1]), ("EXTEND", [2, 9, 1])]
)
def test_passes_agree_with_attention_by_torch(mode, news, window):
    register()
    registry = module("layers.attention.attention_registry").ATTENTION_BACKENDS
    native = module("layers.attention.torch_native_backend").TorchNativeAttnBackend
    base = module("layers.attention.base_attn_backend").AttentionBackend
    served = runner()
    backend = registry[NAME](served)
    assert isinstance(backend, base)
    step, attention = batch(mode, news, served), layer(window)
    shapes = (HEADS * WIDTH,), (KV_HEADS, WIDTH), (KV_HEADS, WIDTH)
    rows = [torch.randn(sum(news), *shape).half() for shape in shapes]
    found = passed(backend, step, attention, rows)
    wanted = passed(native(served), step, attention, rows)
    assert found.shape == wanted.shape
    torch.testing.assert_close(found, wanted, atol=6e-3, rtol=0)


def test_an_idle_pass_asks_for_nothing():
    register()
    registry = module("layers.attention.attention_registry").ATTENTION_BACKENDS
    served = runner()
    backend, step = registry[NAME](served), batch("IDLE", [1, 1, 1], served)
    rows = [torch.zeros(0, HEADS * WIDTH), None, None]
    found = backend.forward(*rows, layer(-1), step)
    assert found.shape == (0, HEADS * WIDTH)
