"""Spaces without kernels, and a process that pretends to measure their points."""

from __future__ import annotations

import sys

from wave_tune.points import Candidate, Point, Space, canonical
from wave_tune.sampler import EstimateSampler
from wave_tune.subject import Subject
from wave_tune.tuner import Asked, Job

PROCESS = """
import json, os, sys
answers = json.loads(sys.argv[1])
sys.stdin.readline()
for line in sys.stdin:
    found = answers[json.loads(line)["subs"]["TILE"]]
    if found == "hang":
        sys.stdin.read()
    if found == "die":
        print("last words", file=sys.stderr, flush=True)
        os._exit(3)
    if isinstance(found, str):
        print(json.dumps({"reason": found}), flush=True)
        continue
    print(json.dumps({"value": found, "unit": "cycles", "us": found}), flush=True)
"""


def pretending(answers):
    """The command of a process that answers what it is told, by the tile's number."""
    return sys.executable, "-c", PROCESS, canonical(answers)


def candidate(tile, way, cycles=None):
    """A candidate with a tile and a preset."""
    point = Point({"TILE": tile}, {"preset": way})
    params = {"TILE": str(tile), "way": canonical({"preset": way})}
    return Candidate(point, params, cycles)


def line_of(count, estimates=None):
    """A space of one symbol, whose values are 0, 1 and so on."""
    cycles = estimates or [None] * count
    rows = tuple(candidate(i, "default", cycles[i]) for i in range(count))
    return Space(rows, {"TILE": ("TILE",)})


def job_on(store, space, **asked):
    """The study of a space in a store, as `prepared` begins it for a kernel."""
    study = store.study("kernel-0", "pretended", space)
    study.set_user_attr("on", "pretended")
    study.sampler = EstimateSampler(space)
    all_of_it = Asked(Subject("kernel"), store, **asked)
    return Job(all_of_it, space, study, "gfx942", "kernel", "kernel-0")
