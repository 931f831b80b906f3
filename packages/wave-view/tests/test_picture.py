"""The picture of waves over time."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from wave_core.diagnostics import UserError
from wave_view import picture

SVG = "{http://www.w3.org/2000/svg}"


def timeline(*events, waves=1):
    """Of waves that load, wait for the memory and add; 560 columns of a cycle each."""
    return {
        "cycles": 560.0,
        "waves": [{"wave": number, "simd": 0, "group": 0} for number in range(waves)],
        "instructions": [{"unit": "vmem"}, {"unit": "valu"}],
        "reasons": ["hbm", "wait"],
        "events": events,
    }


def drawn(view, *events, waves=1):
    """The picture, and the bars of each colour as its path has them."""
    cycles = {"cycles": {"timeline": timeline(*events, waves=waves)}}
    root = ET.fromstring(picture(replace(view, documents=cycles)))
    paths = {
        each.attrib["stroke"]: each.attrib["d"] for each in root.iter(f"{SVG}path")
    }
    return root, paths


def words(root):
    return [each.text for each in root.iter(f"{SVG}text")]


def test_work_and_waiting_have_their_colours_and_places(view):
    root, paths = drawn(view, [0, 0, 0, 40, 0, 0], [0, 1, 300, 560, 200, 0])
    assert paths == {
        "#8262b0": "M64 8h40",
        "#cdbfe3": "M164 8h200",
        "#3f7fbf": "M364 8h260",
    }
    named = ["vector unit", "global memory", "waits for memory"]
    assert words(root) == ["wave 0", "0", "280", "560 cycles", *named]


def test_a_column_shows_what_takes_most_of_it(view):
    _, paths = drawn(view, [0, 0, 0, 0.4, 0, 0], [0, 1, 0.4, 560, 0, 0])
    assert paths == {"#3f7fbf": "M64 8h560"}


def test_sixteen_waves_at_most_and_the_time_of_these(view):
    events = [[wave, 1, 0, 10 + wave, 0, 0] for wave in range(20)]
    root, _ = drawn(view, *events, waves=20)
    assert words(root)[:16] == [f"wave {number}" for number in range(16)]
    assert "25 cycles" in words(root)


def test_a_kernel_without_cycles_has_no_picture(view):
    with pytest.raises(UserError, match="`double` has no cycles"):
        picture(view)
