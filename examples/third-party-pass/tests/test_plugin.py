"""The installed plugin, seen from Wave."""

from __future__ import annotations

import subprocess
import sys

import pytest

from wave_core.diagnostics import explain
from wave_core.plugin import (
    PipelineRequest,
    PluginHost,
    plan_pipeline,
)

HERE = "wave_example_pass"
REQUEST = PipelineRequest("generic")


def test_the_plugin_is_found_by_its_entry_point():
    host = PluginHost()
    (info,) = [each.info for each in host.plugins if each.info.name == "example"]
    assert (info.distribution, info.version) == ("wave-example-pass", "0.1.0")
    brought = {
        kind: tuple(name for name, each in table.items() if each.provider == info)
        for kind, table in host.tables().items()
    }
    assert {kind: names for kind, names in brought.items() if names} == {
        "passes": ("fold-double-negation",),
        "ops": (
            "wave_example_pass.complex:ComplexMul",
            "wave_example_pass.ops:Relu6",
            "wave_example_pass.ops:SwapPairs",
        ),
        "constraints": ("wave_example_pass.constraints:Interleaved",),
        "tile rules": ("wave_example_pass.complex",),
        "diagnostics": ("EXAMPLE001",),
        "module passes": ("drop-products-with-one",),
        "lowerings": (
            "amdgpu:wave_example_pass.amdgpu",
            "sim:wave_example_pass.lanes",
        ),
    }


def test_the_pass_has_its_place():
    plan = plan_pipeline(PluginHost(), REQUEST)
    names = plan.pipeline.names
    place = names.index("fold-double-negation")
    assert place < names.index("eliminate-dead-code")
    reasons = {row.name: row.reason for row in plan.rows()}
    assert reasons["fold-double-negation"] == "before eliminate-dead-code"
    assert "after fold-double-negation" in reasons["eliminate-dead-code"]


def test_without_the_plugin_nothing_is_left_of_it():
    host = PluginHost(disabled=["example"])
    assert "fold-double-negation" not in plan_pipeline(host, REQUEST).pipeline.names
    assert "wave_example.relu6" not in host.op_classes


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("wave_example.complex_mul", "ComplexMul"),
        ("wave_example.relu6", "Relu6"),
        ("wave_example.swap_pairs", "SwapPairs"),
    ],
)
def test_the_ops_are_known_by_name(name, cls):
    assert PluginHost().op_classes[name].__name__ == cls


@pytest.mark.parametrize(
    ("table", "ops"),
    [
        ("sim", {"ComplexMul", "SwapPairs"}),
        ("amdgpu", {"ComplexMul", "Relu6"}),
        ("sim-logical", set()),
    ],
)
def test_the_rules_are_found(table, ops):
    found = PluginHost().lowering_table(table).rules
    assert {op.__name__ for op in found if op.__module__.startswith(HERE)} == ops


def test_the_code_is_explained():
    rows = PluginHost().diagnostics
    known = {name: row.value for name, row in rows.items()}
    assert "use an even tile" in explain("EXAMPLE001", known)


def test_the_plugin_module_is_light():
    program = (
        "import sys, wave_example_pass.plugin;"
        "print(*{'torch', 'numpy', 'sympy'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
