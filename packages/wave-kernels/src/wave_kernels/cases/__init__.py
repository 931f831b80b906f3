"""Each kernel with sizes, arguments and a reference in f64."""

from __future__ import annotations
