"""A process that forks while one of its threads makes expressions."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from wave_core.compile import Session
from wave_core.symbols import symbol
from wave_core.symbols.node import InternTable

SECONDS = 20
"""A child that waits longer waits for ever."""


def status_of_a_child(work):
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]


class Node:
    pass


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_does_not_wait_for_a_thread_of_its_parent():
    """Forks wait until the node is made, or the child would inherit the lock."""
    table, making, finish = InternTable(), threading.Event(), threading.Event()

    def make():
        making.set()
        finish.wait(SECONDS)
        return Node()

    def use_what_the_thread_used():
        table.add("another", Node)
        symbol("NEVER_SEEN_BEFORE")
        Session().remembered("nothing")

    thread = threading.Thread(target=table.add, args=("one", make))
    thread.start()
    making.wait(SECONDS)
    threading.Timer(0.2, finish.set).start()
    assert status_of_a_child(use_what_the_thread_used) == 0
    thread.join()
