"""``wave inspect --what memory``: table and JSON."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from staged import compiled_gemm
from typer.testing import CliRunner

from wave_core.cli.inspect import app
from wave_core.plugin import ViewRequest
from wave_passes_memory.report.view import buffers_of, memory

COMMAND = ["gemm-staged", "--what", "memory", "--target", "gfx942"]


@pytest.fixture(scope="module")
def compiled():
    return compiled_gemm((256, 256, 64), (128, 128, 32))


@pytest.fixture(scope="module")
def buffers(compiled):
    return buffers_of(compiled)


@pytest.fixture(scope="module")
def view(compiled):
    return memory(ViewRequest("gemm", "gfx942", {}, {}, list, compiled))


def test_conflicts_are_counted_before_and_after(buffers):
    assert [row.conflicts_before > 0 for row in buffers] == [True, True]
    assert [row.conflicts for row in buffers] == [0, 0]


def test_accesses_of_a_thread_and_bytes(buffers):
    for row in buffers:
        assert (row.writes, row.reads) == ((128, 128), (128,) * 4)
        assert row.bytes == 128 * 32 * 2
    first, second = sorted(row.offset for row in buffers)
    assert second >= first + 8192


def test_each_element_has_one_owner(buffers):
    for row in buffers:
        owners = [owner for line in row.owners for owner in line]
        assert set(owners) == set(range(256))
        assert all(owners.count(thread) == 8 for thread in (0, 77, 255))


def test_the_table_has_a_row_for_each_buffer_and_one_for_all(view):
    ((columns, rows),) = view.tables
    assert len(rows) == 3
    assert all(len(row) == len(columns) for row in rows)


def test_lanes_of_a_phase_that_meet_make_the_conflicts(view):
    for buffer in view.document["buffers"]:
        assert {access["kind"] for access in buffer["accesses"]} == {"read", "write"}
        for access in buffer["accesses"]:
            assert access["conflicts"] == met(access, view.document["bank_bytes"])
            assert access["cycles"] == len(access["phases"]) + access["conflicts"]
            assert sorted(sum(access["phases"], ())) == list(range(64))


def met(access, bank_bytes):
    """Words beyond the first of the fullest bank, summed over phases."""
    total = 0
    for lanes in access["phases"]:
        words = {
            access["bytes"][lane] // bank_bytes + word
            for lane in lanes
            for word in range(access["bits"] // 8 // bank_bytes)
        }
        counts = Counter(word % access["banks"] for word in words)
        total += max(counts.values()) - 1
    return total


def test_the_command_prints_json():
    result = CliRunner().invoke(app, [*COMMAND, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [row["conflicts"] for row in found["buffers"]] == [0, 0]
