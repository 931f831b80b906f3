"""Building: workers that may crash, wheels with equal bytes, what is built."""

from __future__ import annotations

import base64
import csv
import io
import zipfile
from dataclasses import replace
from hashlib import sha256

import pytest
import torch

import wave_core.lang as tkl
from wave_core.diagnostics import UserError
from wave_kernels.building.calls import every_call
from wave_kernels.building.library import Wanted
from wave_kernels.building.wheels import Wheel
from wave_kernels.building.workers import outcomes
from wave_kernels.functions import attention, matmul, softmax
from wave_kernels.functions.requests import described, requests_kept


class TestWorkers:
    def test_results_come_with_their_numbers(self):
        found = list(outcomes("operator:mul", [(2, 3), (4, 5), (6, 7)], 2, 60.0))
        assert {row.number: row.result for row in found} == {0: 6, 1: 20, 2: 42}
        assert not any(row.problem for row in found)

    def test_one_that_crashes_hangs_or_raises_leaves_the_others(self):
        texts = ["__import__('signal').raise_signal(9)", "__import__('time').sleep(60)"]
        pieces = [(text,) for text in (*texts, "(", "6 * 7")]
        found = list(outcomes("builtins:eval", pieces, 2, 4.0))
        problems = {row.number: row.problem for row in found}
        assert "ended with -9" in problems[0]
        assert "not done in 4 s" in problems[1]
        assert "never closed" in problems[2]
        assert problems[3] == ""
        assert {row.number: row.result for row in found}[3] == 42

    def test_those_that_are_done_may_tidy_up(self, tmp_path):
        left = f"{str(tmp_path / 'left')!r}, 'w'"
        text = f"[__import__('atexit').register(open, {left}), 42][1]"
        (found,) = outcomes("builtins:eval", [(text,)], 1, 60.0)
        assert found.result == 42
        assert (tmp_path / "left").exists()

    def test_whoever_stops_listening_leaves_no_process(self):
        import multiprocessing

        running = outcomes("time:sleep", [(0,), (60,), (60,)], 2, 90.0)
        assert next(running).number == 0
        running.close()
        assert multiprocessing.active_children() == []


class TestWheels:
    WHEEL = Wheel(
        "some-kernels",
        "1.2",
        "Some.",
        ("wave-kernels==1.2",),
        {"group": {"some": "some_kernels"}},
        {"some_kernels/b": b"\0\1", "some_kernels/a": b""},
    )

    def test_equal_contents_give_equal_bytes(self):
        turned = dict(reversed(self.WHEEL.files.items()))
        other = replace(self.WHEEL, files=turned)
        assert other.to_bytes() == self.WHEEL.to_bytes()

    def test_the_record_has_every_file(self, tmp_path):
        path = self.WHEEL.write(tmp_path / "new")
        assert path.name == "some_kernels-1.2-py3-none-any.whl"
        with zipfile.ZipFile(path) as archive:
            text = archive.read("some_kernels-1.2.dist-info/RECORD").decode()
            rows = {name: rest for name, *rest in csv.reader(io.StringIO(text))}
            assert [*rows] == archive.namelist()
            for name, (hashed, size) in rows.items():
                if name.endswith("RECORD"):
                    continue
                data = archive.read(name)
                found = base64.urlsafe_b64encode(sha256(data).digest()).decode()
                assert (hashed, size) == (f"sha256={found.rstrip('=')}", str(len(data)))


class TestRequests:
    def test_functions_ask_and_launch_nothing(self):
        x = torch.empty(3, 5, device="meta")
        with requests_kept() as found:
            softmax(x)
            matmul(x, x.mT)
        rows, product = found
        assert rows.sizes == {"M": 3, "N": 5}
        assert rows.text.startswith("wave_kernels.definitions.softmax:softmax_kernel {")
        assert product.sizes == {"M": 3, "N": 3, "K": 5}

    def test_one_query_hides_no_key_behind_it(self):
        query, rows = (torch.empty(1, 8, n, 64, device="meta").half() for n in (1, 9))
        with requests_kept() as found:
            for causal in (False, True):
                attention(query, rows, rows, causal=causal)
                attention(query, rows, rows, causal=causal, window=4)
        assert found[:2] == found[2:]

    def test_texts_say_all_that_is_computed(self):
        x = torch.empty(4, 4, device="meta")
        with requests_kept() as found:
            for activation in ("", "relu"):
                matmul(x, x, activation=activation)
            matmul(x.half(), x.half())
            matmul(x, x.mT)
            matmul(torch.empty(8, 4, device="meta"), x)
        texts = [request.text for request in found]
        assert len({*texts[:4]}) == 4
        assert texts[4] == texts[0]

    def test_sizes_are_left_to_the_launch(self):
        with requests_kept() as found:
            softmax(torch.empty(3, 5, device="meta"))
        left = found[0].leaving("M", "KVH")
        assert (left.sizes, left.dynamic) == ({"N": 5}, ("M",))

    def test_what_has_no_text_is_refused(self):
        assert described((tkl.f16, None, tkl.sym.K2 - tkl.sym.M)) == [
            "f16",
            None,
            str(tkl.sym.K2 - tkl.sym.M),
        ]
        with pytest.raises(TypeError, match="no text"):
            described(object())


def test_every_call_asks_for_one_kernel_of_its_own():
    calls = every_call()
    assert len({call.name for call in calls}) == len(calls)
    requests = [call.request for call in calls]
    keys = {(r.text, *sorted(r.sizes.items())) for r in requests}
    assert len(keys) == len(calls)
    for call, request in zip(calls, requests, strict=True):
        left = {*request.dynamic} or {*call.dynamic} & {*request.sizes}
        assert left, call.name


def test_every_function_that_can_be_built_has_calls():
    from wave_kernels import functions

    built = {call.function for call in every_call()}
    assert built <= {*functions.__all__}
    assert {"softmax", "matmul", "attention", "attention_varlen"} <= built
    layer = {"route_tokens", "group_tokens", "grouped_swiglu", "grouped_matmul"}
    assert {*layer, "combine_tokens", "matmul_nbits", "cross_entropy"} <= built
    assert "rotary_embedding" in built


def test_names_that_no_call_has_are_refused():
    with pytest.raises(UserError, match="WV0801"):
        Wanted(("gfx942",), ("no-such-*",)).pieces()
    pieces = Wanted(("gfx942", "sm_90a"), ("softmax-f16-4096",)).pieces()
    assert pieces == [("softmax-f16-4096", "gfx942"), ("softmax-f16-4096", "sm_90a")]
