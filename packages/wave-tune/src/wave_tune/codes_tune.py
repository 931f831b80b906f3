"""The codes of tuning: WV0830 to WV0833."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

TUNE_CODES = read_codes("""
WV0830: a store of measurements cannot be used
Cause: the file or the server that keeps what was measured has tables of another
version of Optuna, is no database, cannot be reached, or needs a driver that is
not installed. Kernels are compiled as if nothing were measured.
Bad:
    WAVE_TUNE_STORE=sqlite:////data/notes.txt
Good:
    WAVE_TUNE_STORE=sqlite:////data/tune.sqlite3
    WAVE_TUNE_STORE=off
Fix: name another store, or upgrade the tables by `optuna storage upgrade`.

WV0831: nothing here measures code of a target
Cause: no GPU here runs code of the target, and no emulator that is installed
counts its cycles.
Bad:
    wave tune gemm --target sm_90a        # on a machine without a GPU
Good:
    wave tune gemm --target gfx942
Fix: tune on a machine with such a GPU, against a store that both reach; or
install the emulator that counts cycles of the target.

WV0832: there is nothing to tune, or nothing could be measured
Cause: the kernel leaves no symbol open and declares no presets or options, or
each way to compile it was refused, failed, or took longer than the time limit.
Bad:
    wave tune copy
Good:
    @wave_autotune({BLOCK_M: (64, 128)}, presets=("default", "prefetch"))
Fix: declare what may be tried, or mend what the notes name; a trial may take
longer by `--limit`.

WV0833: workers cannot be spread as asked
Cause: `--workers` is no number from 1, or asks for Ray, which is not installed;
or workers on other machines are to share a store that is a file of this one.
Bad:
    wave tune gemm --workers ray
Good:
    wave tune gemm --workers 4
    wave tune gemm --workers ray --store postgresql://host/wave
Fix: `python -m pip install ray`, and name the URL of a server as store.
""")
