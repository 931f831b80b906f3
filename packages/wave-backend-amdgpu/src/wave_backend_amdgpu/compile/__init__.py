"""From MLIR to code objects, in process or in a worker."""

from __future__ import annotations
