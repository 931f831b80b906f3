from __future__ import annotations

import json

from wave_core.diagnostics import (
    Diagnostic,
    Severity,
    fuse,
    make_diagnostic,
)


def span(line, column, end_column):
    return {
        "file": "user_kernel.py",
        "line": line,
        "column": column,
        "end_line": line,
        "end_column": end_column,
        "function": "gemm",
    }


def test_the_schema(kernel):
    place = fuse(kernel.find("read(a)"), kernel.find("read(b)"))
    found = make_diagnostic("WV0201", "m", at=place, label="l", help="h", bits=16)
    part = {**span(4, 13, 20), "callers": [], "fused": []}
    assert json.loads(json.dumps(found.to_json())) == {
        "code": "WV0201",
        "severity": "error",
        "message": "m",
        "primary": {
            "message": "l",
            "location": {**span(3, 13, 20), "callers": [], "fused": [part]},
        },
        "secondary": [],
        "notes": [],
        "help": ["h"],
        "data": {"bits": 16},
    }


def test_keys_are_always_all_present():
    bare = Diagnostic("WV0201", "m", severity=Severity.WARNING).to_json()
    assert bare["primary"] is None
    assert bare["severity"] == "warning"
    assert set(bare) == {
        "code", "severity", "message", "primary", "secondary", "notes", "help", "data"
    }  # fmt: skip


def test_values_that_json_does_not_know_become_text(kernel):
    data = {"dims": ("M", 2), "type": Severity.NOTE, "where": kernel.find("read(a)")}
    found = make_diagnostic("WV0201", "m", **data).to_json()["data"]
    assert found["dims"] == ["M", 2]
    assert found["type"] == "Severity.NOTE"
    assert found["where"]["line"] == 3
