"""Runs a function on every rank of a group of processes, by gloo."""

from __future__ import annotations

import socket
import traceback
from datetime import timedelta

import torch.distributed as dist
import torch.multiprocessing as mp

SECONDS = 60


def run_on(size, work, *arguments, seconds=SECONDS):
    """What ``work(rank, size, *arguments)`` gives on each rank, or how it failed."""
    context = mp.get_context("spawn")
    answers = context.SimpleQueue()
    place = f"tcp://127.0.0.1:{_free_port()}"
    rows = [
        (rank, size, place, work, arguments, seconds, answers) for rank in range(size)
    ]
    processes = [context.Process(target=_member, args=row) for row in rows]
    for each in processes:
        each.start()
    for each in processes:
        # To start one takes seconds of its own, on a machine at work many.
        each.join(SECONDS + 2 * seconds)
        assert each.exitcode is not None, "no rank waits forever"
    found = {}
    while not answers.empty():
        rank, answer = answers.get()
        found[rank] = answer
    return found


def _member(rank, size, place, work, arguments, seconds, answers):
    limit = timedelta(seconds=seconds)
    dist.init_process_group("gloo", place, limit, size, rank)
    try:
        answer = work(rank, size, *arguments)
    except Exception as error:  # noqa: BLE001 - the test compares how it failed
        traceback.print_exc()
        answer = f"{type(error).__name__}: {error}"
    answers.put((rank, answer))
    if not isinstance(answer, str):
        dist.destroy_process_group()


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
