"""Schedules written by hand: what a kernel's author says about the order of ops.

The decorated function runs once, when it is defined, and what it asks for is kept as
data; a scheduling package carries it out on the kernels that it is compiled with.
"""

from __future__ import annotations
