"""Compile options of the reference implementation that go by another name here."""

from __future__ import annotations

from collections.abc import Mapping

_TIMING = "use `timing=`: it reports the time of every pass"
_MLIR = "use `compile_to_mlir=`, and print `kernel.asm`"
_BENCH = "time calls of the kernel, or run `wave run`: compiling measures nothing"
_VERIFY = "use `verify_each=`: it checks the IR after every pass"
_NONE = "leave it out: there is nothing like it here"
_WATER = "leave it out: there is one compiler"
_TEXT_IR = "use `print_ir_after=`; text is parsed back by `parse_graph`"
_ADVICE_ON_ACCESS = "leave it out, or pick passes by `passes=` and `disable_passes=`"

OTHER_NAMES: Mapping[str, str] = {
    "postprocess": "write a module pass: docs/howto/change-the-mlir.md",
    "canonicalize": "use `disable_passes=`: it leaves out passes by name",
    "func_name": "rename the kernel's function: the code has its name",
    "hyperparams": "use `subs=`",
    "kernel_launch_info": "leave it out: `kernel.explain()` says how it is launched",
    "kernel_usages": "leave it out: `kernel.parameters` says how they are used",
    "codeobj": "leave it out: code objects are of version 5",
    "iree_preprocessing_pass_pipeline": "write a module pass: "
    "docs/howto/change-the-mlir.md",
    "num_devices": "write a `DeviceConstraint`",
    "use_water_backend": _WATER,
    "use_water_leak_check": "use `checks=`: simulators look for accesses out of bounds",
    "check_water_analysis": _VERIFY,
    "linearize_reads": _ADVICE_ON_ACCESS,
    "linearize_shared_access": _ADVICE_ON_ACCESS,
    "coalescing_strategy_hint": _ADVICE_ON_ACCESS,
    "enable_mark_hardware_transpose_candidates": _ADVICE_ON_ACCESS,
    "run_bench": _BENCH,
    "benchmark_batch_size": _BENCH,
    "benchmark_repetitions": _BENCH,
    "benchmark_results_file": _BENCH,
    "bench_with_constant_weights": _BENCH,
    "capture_trace": _BENCH,
    "profile_python_wrapper": _TIMING,
    "profile_python_cprofile": _TIMING,
    "profile_python_warmup": _TIMING,
    "profile_python_repetitions": _TIMING,
    "kernel_hash": "leave it out: `kernel.key` is the digest",
    "create_vmfb_file": "run `wave compile KERNEL --emit vmfb`",
    "compile_to_asm": "leave it out: `kernel.asm` is the assembly",
    "location_capture_config": "leave it out: every op has the line of its author",
    "use_local_scope": "use `dump_intermediates=`: it writes every stage as text",
    "drop_debug_info_before_mlir": "use `plugin_options={'debug_lines': True}`",
    "enforce_locations": _VERIFY,
    "verify_region_captures": _VERIFY,
    "optimization_level": 'use `preset=`: "naive" is without optional passes',
    "wave_runtime": 'use `device=`: "hip" launches with the runtime',
    "iree_launch_async": 'use `device=`: "iree" launches with IREE',
    "scalarize_packed_math": _NONE,
    "use_bound_check": "use `checks=`: simulators look for accesses out of bounds",
    "specialize": _NONE,
    "cluster_barrier_delay": _NONE,
    "allow_noncontiguous_runtime_buffers": "leave it out: devices say whether they "
    "take strides",
    "edit_ir_before": _TEXT_IR,
    "edit_ir_after": _TEXT_IR,
    "edit_ir_before_all": _TEXT_IR,
    "edit_ir_after_all": _TEXT_IR,
    "mlir_print_ir_after_all": "use `dump_intermediates=`: it writes every stage",
    "profile_pass": _TIMING,
    "print_pass_times": _TIMING,
    "print_trace_begin": "use `print_ir_before=`",
    "print_grid": "leave it out: `kernel.explain()` says the grid",
    "print_signature": "leave it out, and print `kernel.signature`",
    "print_mlir": _MLIR,
    "print_mlir_file": _MLIR,
    "print_mlir_before_water": _WATER,
    "print_mlir_after_water": _WATER,
}
"""The way to write each instead, as a help of `WV0821`."""
