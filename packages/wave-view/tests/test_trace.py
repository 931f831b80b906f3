"""The trace that Perfetto opens."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_core.diagnostics import UserError
from wave_view import trace

TIMELINE = {
    "waves": [{"wave": 0, "simd": 0, "group": 0}, {"wave": 1, "simd": 1, "group": 0}],
    "instructions": [{"pc": 4, "text": "v_add", "source": "k.py:7", "unit": "valu"}],
    "reasons": ["issue", "lds"],
    "events": [[0, 0, 8.0, 12.0, 0.0, 0], [1, 0, 20.0, 24.0, 12.0, 1]],
}
CHART = {
    "resources": [
        {"name": "A", "units": 1, "lanes": 2},
        {"name": "B", "units": 1, "lanes": 1},
    ],
    "bars": [
        {"task": "mma_0", "kind": "MMA", "resource": "A", "lane": 1, "start": 3,
         "cycles": 4, "stage": 2, "source": "k.py:7"},
        {"task": "read_0", "kind": "Read", "resource": "B", "lane": 0, "start": 0,
         "cycles": 2, "stage": 0, "source": "k.py:6"},
    ],
}  # fmt: skip


@pytest.fixture
def events(view):
    documents = {
        "cycles": {"timeline": TIMELINE},
        "schedule": {"loops": [{"loop": "K", "chart": CHART}, {"loop": "J"}]},
    }
    return trace(replace(view, documents=documents))["traceEvents"]


def test_each_bar_is_an_event_in_microseconds(events):
    bars = [row for row in events if row["ph"] == "X"]
    named = {row["name"]: (row["ts"], row["dur"]) for row in bars}
    assert named["waits for lds"] == (0.008, 0.012)
    assert named["mma_0"] == (0.003, 0.004)
    assert sum(row["name"] == "v_add" for row in bars) == 2


def test_every_row_has_a_name_of_its_own(events):
    names = {
        (row["pid"], row["tid"]): row["args"]["name"]
        for row in events
        if row["name"] == "thread_name"
    }
    assert len(set(names.values())) == len(names) == 5
    shown = {(row["pid"], row["tid"]) for row in events if row["ph"] == "X"}
    assert shown <= names.keys()


def test_a_kernel_without_either_says_why(view):
    with pytest.raises(UserError) as caught:
        trace(view)
    assert caught.value.code == "WV0829"
    assert "gfx942" in str(caught.value)
