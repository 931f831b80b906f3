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
LENGTHS, REQUESTS = [5, 9, 1], [4, 1, 2]
WINDOW, DRAFTS = 2, 3


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


def windowed(plain, news):
    """The same where layer 0 has a pool of its own, with what its windows see."""
    kept = module("mem_cache.swa_memory_pool").SWAKVPool(
        SLOTS, 40, 1, torch.float16, KV_HEADS, WIDTH, [0], [1], "cpu"
    )
    held = [
        plain.req_to_token_pool.req_to_token[request, max(end - new - WINDOW, 0) : end]
        for request, end, new in zip(REQUESTS, LENGTHS, news, strict=True)
    ]
    slots = torch.cat(held).long().unique()
    places = torch.zeros(SLOTS + 2, dtype=torch.int64)
    places[slots] = 1 + torch.randperm(40)[: len(slots)]
    kept.register_mapping(places)
    for name in ("k_buffer", "v_buffer"):
        (whole,) = getattr(plain.token_to_kv_pool, name)
        getattr(kept.full_kv_pool, name)[0].copy_(whole)
        getattr(kept.swa_kv_pool, name)[0][places[slots]] = whole[slots]
    return SimpleNamespace(**(vars(plain) | {"token_to_kv_pool": kept}))


def batch(mode, news, runner):
    """A pass whose last keys are new, in slots of their own."""
    info = module("model_executor.forward_batch_info")
    requests, lengths = torch.tensor(REQUESTS), torch.tensor(LENGTHS)
    fresh = torch.randperm(SLOTS)[: sum(news)] + 1
    at = 0
    for request, length, new in zip(requests, LENGTHS, news, strict=True):
        own = fresh[at : at + new]
        runner.req_to_token_pool.write((request, slice(length - new, length)), own)
        at += new
    found = info.ForwardBatch(
        forward_mode=getattr(info.ForwardMode, mode),
        batch_size=len(LENGTHS),
        input_ids=torch.zeros(sum(news), dtype=torch.int64),
        req_pool_indices=requests,
        seq_lens=lengths,
        out_cache_loc=fresh,
        seq_lens_sum=sum(LENGTHS),
    )
    found.extend_seq_lens = torch.tensor(news)
    found.extend_prefix_lens = lengths - found.extend_seq_lens
    return found


def layer(window, number=0):
    attention = module("layers.radix_attention").RadixAttention
    return attention(HEADS, WIDTH, 0.3, KV_HEADS, number, sliding_window_size=window)


def made(served):
    """The backend as SGLang makes it."""
    register()
    registry = module("layers.attention.attention_registry").ATTENTION_BACKENDS
    return registry[NAME](served)


def new_rows(count):
    """Queries, keys and values of as many tokens."""
    shapes = (HEADS * WIDTH,), (KV_HEADS, WIDTH), (KV_HEADS, WIDTH)
    return [torch.randn(count, *shape).half() for shape in shapes]


def passed(backend, step, layer, rows):
    """What a backend gives for a pass, through the method that models call."""
    backend.init_forward_metadata(step)
    return backend.forward(*(each.clone() for each in rows), layer, step)


@pytest.mark.parametrize("window", [-1, 2])
@pytest.mark.parametrize(
    ("mode", "news"), [("DECODE", [1, 1, 1]), ("EXTEND", [2, 9, 1])]
)
def test_passes_agree_with_attention_by_torch(mode, news, window):
    native = module("layers.attention.torch_native_backend").TorchNativeAttnBackend
    base = module("layers.attention.base_attn_backend").AttentionBackend
    served = runner()
    backend = made(served)
    assert isinstance(backend, base)
    step, attention = batch(mode, news, served), layer(window)
    rows = new_rows(sum(news))
    found = passed(backend, step, attention, rows)
    wanted = passed(native(served), step, attention, rows)
    assert found.shape == wanted.shape
    torch.testing.assert_close(found, wanted, atol=6e-3, rtol=0)


def test_an_idle_pass_asks_for_nothing():
    served = runner()
    backend, step = made(served), batch("IDLE", [1, 1, 1], served)
    rows = [torch.zeros(0, HEADS * WIDTH), None, None]
    found = backend.forward(*rows, layer(-1), step)
    assert found.shape == (0, HEADS * WIDTH)


@pytest.mark.parametrize(("window", "number"), [(WINDOW, 0), (-1, 1)])
@pytest.mark.parametrize(
    ("mode", "news"), [("DECODE", [1, 1, 1]), ("EXTEND", [2, 9, 1])]
)
def test_windows_may_have_a_pool_of_their_own(mode, news, window, number):
    plain = runner()
    step, rows = batch(mode, news, plain), new_rows(sum(news))
    apart = windowed(plain, news)
    found = passed(made(apart), step, layer(window, number), rows)
    wanted = passed(made(plain), step, layer(window), rows)
    torch.testing.assert_close(found, wanted, atol=1e-3, rtol=0)


def verified(step):
    """A step of drafts in trees, some hidden, and of each the keys that it sees."""
    eagle = module("speculative.eagle_info").EagleVerifyInput
    trees = [torch.eye(DRAFTS) + torch.rand(DRAFTS, DRAFTS).tril() > 0.5] * 3
    seen = [
        torch.cat([torch.ones(DRAFTS, length) > 0, tree], 1)
        for length, tree in zip(LENGTHS, trees, strict=True)
    ]
    rest = dict.fromkeys(
        (
            *("draft_token", "positions", "retrieve_index", "retrieve_next_token"),
            *("retrieve_next_sibling", "retrieve_cum_len", "capture_hidden_mode"),
        )
    )
    step.spec_info = eagle(
        custom_mask=torch.cat([each.flatten() for each in seen]),
        draft_token_num=DRAFTS,
        spec_steps=DRAFTS - 1,
        topk=1,
        seq_lens_sum=sum(LENGTHS),
        seq_lens_cpu=torch.tensor(LENGTHS),
        **rest,
    )
    return seen


def test_drafts_are_verified(monkeypatch):
    served, news = runner(), [DRAFTS] * 3
    with monkeypatch.context() as ends:
        # Requests are as long as before the drafts, whose slots lie behind.
        ends.setattr(f"{__name__}.LENGTHS", [length + DRAFTS for length in LENGTHS])
        step = batch("TARGET_VERIFY", news, served)
    step.seq_lens = torch.tensor(LENGTHS)
    seen, rows = verified(step), new_rows(sum(news))
    found = passed(made(served), step, layer(-1), rows)
    kept, at = served.token_to_kv_pool, 0
    for request, mask in zip(REQUESTS, seen, strict=True):
        slots = served.req_to_token_pool.req_to_token[request, : mask.shape[1]].long()
        query = rows[0][at : at + DRAFTS].view(DRAFTS, HEADS, WIDTH)
        heads = query, kept.k_buffer[0][slots], kept.v_buffer[0][slots]
        right = torch.nn.functional.scaled_dot_product_attention(
            *(each.transpose(0, 1)[None].double() for each in heads),
            attn_mask=mask,
            scale=0.3,
            enable_gqa=True,
        )
        wanted = right[0].transpose(0, 1).flatten(1)
        part = found[at : at + DRAFTS].double()
        torch.testing.assert_close(part, wanted, atol=6e-3, rtol=0)
        at += DRAFTS
