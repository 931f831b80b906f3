"""WV0607: what plugins do with the MLIR of this package."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

LOWERING_CODES = read_codes("""
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
""")
