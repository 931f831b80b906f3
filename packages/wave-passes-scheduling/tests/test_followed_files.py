"""Schedule files of kernels: dumped, followed, and refused with line and edge."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from pipelined_kernels import K, M, N, run_gemm, staged_gemm, statistics

import wave_core.lang as tkw
from wave_core.compile import Session
from wave_core.compile.key import content_key
from wave_core.diagnostics import UserError
from wave_passes_scheduling.files.storage import (
    load_schedule,
    read_json,
    save_schedule,
    write_json,
)

STRATEGIES = ("prefetch", "four-stage", "modulo")
UNIT = ("schedule-loops{profile=unit}",)


def codes(error):
    return [row.code for row in error.value.diagnostics]


@pytest.fixture
def dumped(tmp_path):
    path = str(tmp_path / "gemm.txt")
    run_gemm(staged_gemm(), preset="modulo", passes=UNIT, dump_schedule=path)
    return path


@pytest.mark.parametrize("suffix", ["txt", "json"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_was_dumped_is_followed_and_dumped_again(strategy, suffix, tmp_path):
    first, second = (str(tmp_path / f"{name}.{suffix}") for name in "ab")
    given = {"preset": strategy, "passes": UNIT}
    made, _ = run_gemm(staged_gemm(), dump_schedule=first, **given)
    followed, error = run_gemm(
        staged_gemm(), override_schedule=first, dump_schedule=second, **given
    )
    assert error < 1e-4
    assert statistics(followed) == statistics(made)
    assert (tmp_path / f"a.{suffix}").read_bytes() == (
        tmp_path / f"b.{suffix}"
    ).read_bytes()


def test_text_and_json_say_the_same(dumped):
    found = load_schedule(dumped)
    again = read_json(write_json(found))
    assert write_json(again) == write_json(found)
    assert [row.cycle for row in again.rows] == [row.cycle for row in found.rows]


def row_of(path, name):
    return next(row for row in load_schedule(path).rows if row.name == name)


def test_a_row_that_names_nothing_is_refused_with_its_line(dumped):
    row = row_of(dumped, "mma_0")
    with pytest.raises(UserError, match=f"line {row.line}: the loop has no MMA") as e:
        edited_row(dumped, "mma_0", "mma_0", "mma_x", (f"({row.key[0]},)", "(77,)"))
    assert codes(e) == ["WV0503"]


def test_a_broken_dependence_is_refused_with_line_and_edge(dumped):
    row = row_of(dumped, "mma_0")
    stage, place = divmod(row.cycle, load_schedule(dumped).interval)
    old = f"| {row.cycle:<7} | {place:<16} | {stage:<7} "
    new = f"| 0       | {0:<16} | {0:<7} "
    with pytest.raises(UserError, match=r"line \d+: the data dependence .*mma_0") as e:
        edited_row(dumped, "mma_0", old, new)
    assert codes(e) == ["WV0502"]


def edited_row(path, name, *changes):
    """Follow a file with another row for one node."""
    text = Path(path).read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith(name))
    pairs = [changes[:2], *changes[2:]]
    changed = line
    for old, new in pairs:
        assert old in changed
        changed = changed.replace(old, new, 1)
    Path(path).write_text(text.replace(line, changed), "utf-8")
    return run_gemm(staged_gemm(), preset="modulo", passes=UNIT, override_schedule=path)


@pytest.mark.parametrize("stages", [3, 9])
def test_another_number_of_stages_is_refused(dumped, stages):
    path = Path(dumped)
    text = path.read_text("utf-8")
    most = load_schedule(dumped).stages
    assert most not in {3, 9}
    head = f"Number of Stages: {most}"
    path.write_text(text.replace(head, f"Number of Stages: {stages}"), "utf-8")
    with pytest.raises(UserError, match=f"{stages} stages") as caught:
        run_gemm(staged_gemm(), preset="modulo", passes=UNIT, override_schedule=dumped)
    assert codes(caught) == ["WV0505"]


def test_rows_of_json_that_cannot_be_are_refused(tmp_path):
    path = tmp_path / "gemm.json"
    given = {"preset": "modulo", "passes": UNIT}
    run_gemm(staged_gemm(), dump_schedule=str(path), **given)
    text = path.read_text("utf-8")
    path.write_text(re.sub(r'"interval": \d+', '"interval": 0', text), "utf-8")
    with pytest.raises(UserError, match="there is no interval") as caught:
        run_gemm(staged_gemm(), override_schedule=str(path), **given)
    assert codes(caught) == ["WV0505"]


@pytest.mark.parametrize(("later", "copies"), [(0, 1), (1, 2), (2, 3)])
def test_buffers_get_the_copies_that_a_file_needs(later, copies, tmp_path):
    path = str(tmp_path / "gemm.txt")
    run_gemm(staged_gemm(), preset="prefetch", passes=UNIT, dump_schedule=path)
    save_schedule(computing_later(load_schedule(path), later), path)
    compiled, error = run_gemm(staged_gemm(), override_schedule=path)
    assert error < 1e-4
    shapes = [
        int(str(op.distributed_shape[0]))
        for op in compiled.compiled.lowered.walk()
        if op.op_name == "allocate"
    ]
    assert shapes == [32 * copies] * 2


def computing_later(file, iterations):
    """The schedule, reads of LDS and what follows so many iterations later."""
    early = {"ReadGlobal", "WriteShared"}
    rows = tuple(
        row
        if row.kind in early
        else dataclasses.replace(row, cycle=row.cycle + iterations * file.interval)
        for row in file.rows
    )
    return dataclasses.replace(file, rows=rows, stages=file.stages + iterations)


def test_a_file_that_changed_is_read_again(tmp_path):
    path, session = str(tmp_path / "gemm.txt"), Session()
    options = tkw.WaveCompileOptions(
        subs={M: 40, N: 33, K: 160}, device="sim", override_schedule=path
    )
    kernel, found, keys = staged_gemm(), [], []
    for strategy in ("prefetch", "four-stage", "four-stage"):
        run_gemm(kernel, preset=strategy, passes=UNIT, dump_schedule=path)
        found.append(tkw.wave_compile(options, kernel, session=session).compiled)
        keys.append(content_key(found[-1]))
    assert found[0] is not found[1] is found[2]
    assert keys[0] != keys[1] == keys[2]


def test_a_dumped_file_is_written_again(tmp_path):
    path = tmp_path / "gemm.txt"
    options = tkw.WaveCompileOptions(
        subs={M: 40, N: 33, K: 160},
        device="sim",
        preset="prefetch",
        dump_schedule=str(path),
    )
    kernel, session = staged_gemm(), Session()
    for _ in range(2):
        tkw.wave_compile(options, kernel, session=session)
        assert path.exists()
        path.unlink()


def test_a_file_that_is_not_there(tmp_path):
    path = str(tmp_path / "none.txt")
    with pytest.raises(UserError) as caught:
        run_gemm(staged_gemm(), override_schedule=path)
    assert codes(caught) == ["WV0505"]
