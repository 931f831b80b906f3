"""WV06 and WV09: refusals of code generation, and hazards of its machine code."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

LOWERING_CODES = read_codes("""
WV0604: the code generator of the backend refused the kernel
Cause: a tool below Wave, such as the assembler or the LLVM code generator,
reported an error. Too many registers is the usual one.
Bad:
    WaveConstraint(M, 256); WaveConstraint(N, 256)    # 1024 registers a lane
Good:
    WaveConstraint(M, 64); WaveConstraint(N, 64)
Fix: the notes hold the tool's message. Smaller wave tiles need fewer
registers.

WV0605: a kernel needs more than the chip has: LDS, registers, or workgroups
Cause: the buffers of a workgroup, the values that live across a loop or a
barrier, or the workgroups of the grid do not fit the target.
Bad:
    WaveConstraint(M, 256); WaveConstraint(N, 256)    # 1024 registers a lane
Good:
    WaveConstraint(M, 64); WaveConstraint(N, 64)
Fix: use smaller tiles, more waves, or fewer buffers; the message names the
largest buffers and values.

WV0606: the compiler of the backend crashed or reached a limit
Cause: the compiler below Wave ended without an answer: it crashed, took
longer than its time limit, or needed more memory than its limit. It runs in
a process of its own, so nothing else is lost.
Bad:
    WaveCompileOptions(plugin_options={"compiler_time_limit_s": 1})
Good:
    WaveCompileOptions(plugin_options={"compiler_time_limit_s": 600})
Fix: after a limit, raise it or use smaller tiles. After a crash, try another
tile, schedule or preset, and report it with the input that the notes name.

WV0607: a plugin's pass on the emitted module failed
Cause: a pass that a plugin registers with `wave_register_module_passes`
raised an exception, returned something, cannot be imported, or left a module
that MLIR's verifier refuses.
Bad:
    def transform(module, request):
        return str(module)                  # a pass changes the module itself
Good:
    def transform(module, request):
        seen = ir.UnitAttr.get(module.context)
        module.operation.attributes["toy.seen"] = seen
Fix: report it to the plugin's authors; `WAVE_DISABLE_PLUGINS` leaves the
plugin out.

WV0914: machine code uses a result before it is there
Cause: the emulator executes machine code and saw an instruction use a
register or LDS while the operation that fills it is in flight, or fewer
wait states than the chip needs. The wait that is missing is the code
generator's to place, or that of assembly written by hand.
Bad:
    ds_read_b128 v[0:3], v8
    v_add_f32 v4, v0, v1
Good:
    ds_read_b128 v[0:3], v8
    s_waitcnt lgkmcnt(0)
    v_add_f32 v4, v0, v1
Fix: if you wrote no machine code, report it with the kernel.
""")
