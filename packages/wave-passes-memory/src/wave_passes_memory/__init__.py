"""Memory passes for Wave: staging in LDS, minimal loads, minimal barriers."""

from __future__ import annotations
