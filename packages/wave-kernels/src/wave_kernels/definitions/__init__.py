"""The kernels themselves, as a kernel author writes them."""

from __future__ import annotations
