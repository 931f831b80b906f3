"""Attention of few queries in parts of its keys, as machine code, against f64."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from wave_core.compile import Session, run_case
from wave_core.compile.kernels import make_case
from wave_kernels.functions import attention, split_attention
from wave_kernels.functions.key_parts import Filling

FORMS = {
    "even": ((1, 2, 1, 1, 128), {}),
    "shared": ((2, 1, 5, 1, 133), {"layout": "bshd"}),
    "biased": ((1, 2, 2, 3, 131), {"causal": True, "bias": True}),
}
"""Sequences, heads of keys, those that share one, queries and keys; variants."""


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", ["sm_90a", "gfx942"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_keys_that_workgroups_share(asked, monkeypatch, target, form, dtype):
    monkeypatch.setattr(split_attention, "_FILLING", Filling(held=4, least=64))
    requests = asked(target)
    (b, kvh, group, m, s), variant = FORMS[form]
    words = {"layout": "bhsd", "causal": False, **variant}
    shapes = (b, kvh * group, m, 20), (b, kvh, s, 20), (b, kvh, s, 17)
    given = [torch.randn(shape).to(dtype) for shape in shapes]
    mask = torch.zeros(m, s, dtype=torch.float64)
    if words.pop("bias", False):
        words["bias"] = torch.randn(m, s).to(dtype)
        mask += words["bias"].double()
    if words["causal"]:
        mask[~torch.ones(m, s, dtype=torch.bool).tril(s - m)] = -torch.inf
    wide = [each.double() for each in given]
    wanted = scaled_dot_product_attention(*wide, attn_mask=mask, enable_gqa=True)
    if words["layout"] == "bshd":
        given = [each.transpose(1, 2).contiguous() for each in given]
        wanted = wanted.transpose(1, 2)
    runs = []
    for _ in range(2):
        out = torch.full(wanted.shape, torch.nan, dtype=dtype)
        runs.append(attention(*given, out=out, **words))
    names = ["split_attention_kernel", "merge_kernel"]
    assert [request.make.__name__ for request in requests] == names * 2
    share = {torch.float16: 1e-3 + 2.0**-11, torch.bfloat16: 8e-3 + 2.0**-8}[dtype]
    most = share * float(wide[2].abs().max())
    torch.testing.assert_close(runs[0].double(), wanted, atol=most, rtol=0)
    assert torch.equal(*runs)


@pytest.mark.parametrize("preset", sorted(Session().plugins.presets))
def test_a_loop_of_one_step_has_every_preset(preset):
    """Its last step, which has masks, stands apart, and there is nothing to overlap."""
    session, name = Session(), "attention-split"
    sizes = {"B": 2, "M": 3, "H": 4, "N": 17, "K1": 20, "K2": 66}
    made = make_case(session.plugins.load_kernel(name), name, sizes, {}, "gfx942")
    options = replace(made.options, preset=preset, device="sim", poison_outputs=True)
    report = run_case(made, options=options, session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()
