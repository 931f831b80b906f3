"""Jumps that are too far go by islands, and do the same."""

from __future__ import annotations

import numpy as np
import pytest

from wave_backend_asm.machine.islands import within_reach


def program(seed, length=300, labels=8):
    """Numbered instructions with jumps between them, all forwards or counted."""
    chosen = np.random.default_rng(seed)
    lines = [f"v_nop {n}" for n in range(length)]
    for n in range(labels):
        lines.insert(chosen.integers(len(lines)), f".Lat{n}:")
    for _ in range(labels):
        name = chosen.choice(["s_branch", "s_cbranch_scc1", "s_cbranch_execz"])
        jump = f"{name} .Lat{chosen.integers(labels)}"
        lines.insert(chosen.integers(len(lines)), jump)
    return [*lines, "s_endpgm"]


def executed(lines, seed, steps=400):
    """The first instructions that run; jumps are taken or not as the seed says."""
    taken = np.random.default_rng(seed).random(steps + 1) < 0.5
    labels = {line[:-1]: n for n, line in enumerate(lines) if line.endswith(":")}
    found, at, asked, all_jumps = [], 0, 0, 0
    while len(found) < steps and asked < steps and all_jumps < 9 * steps:
        line = lines[at]
        at += 1
        if line.startswith("s_"):
            name, _, target = line.partition(" ")
            if name == "s_endpgm":
                return found
            all_jumps += 1
            asked += name != "s_branch"
            if name == "s_branch" or taken[asked]:
                at = labels[target]
        elif not line.endswith(":"):
            found.append(line)
    return found


def spans(lines):
    """Bytes that each jump spans, of instructions of two words, and jumps of one."""
    place, at, jumps = 0, {}, []
    for line in lines:
        if line.endswith(":"):
            at[line[:-1]] = place
        elif line.startswith("s_") and " " in line:
            jumps.append((place, line.split()[1]))
            place += 4
        else:
            place += 8
    return [abs(at[target] - begin) for begin, target in jumps]


@pytest.mark.parametrize("seed", range(60))
def test_far_jumps_reach_their_labels_and_do_the_same(seed):
    lines, reach = program(seed), 400
    found = within_reach(lines, reach)
    assert executed(found, seed) == executed(lines, seed)
    more = sum("island" in line for line in found)
    assert max(spans(found)) <= reach + 8 * more


def test_what_reaches_is_left_as_it_is():
    lines = program(3)
    assert within_reach(lines, 8 * len(lines)) == lines
    assert within_reach(lines) == lines


def test_jumps_to_one_label_share_islands():
    lines = [".Lat:", *["v_nop"] * 100, *["s_cbranch_scc1 .Lat"] * 5, "s_endpgm"]
    found = within_reach(lines, 400)
    assert found.count("s_branch .Lat") == 1
    assert sum(line.endswith("over:") for line in found) == 2
