"""``wave inspect --what memory``: table, JSON and picture."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

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


def test_the_picture_is_well_formed(view):
    root = ET.fromstring(view.picture)
    assert root.tag.endswith("svg")
    assert len(list(root)) > 2 * 32 * 32


def test_the_command_prints_json():
    result = CliRunner().invoke(app, [*COMMAND, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [row["conflicts"] for row in found["buffers"]] == [0, 0]
