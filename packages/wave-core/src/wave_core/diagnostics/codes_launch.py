"""WV07: the target, and launching with arguments."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

LAUNCH_CODES = read_codes("""
WV0701: there is no such target
Cause: targets come with core (`generic`) and with backends. This name is
none of them.
Bad:
    WaveCompileOptions(target="gfx9000")
Good:
    WaveCompileOptions(target="gfx942")
Fix: choose a name that the message lists, or install the backend that has
it.

WV0702: the target has no such matrix instruction
Cause: `mma_type` names an instruction, `mma_rows` says how many rows one has,
`threads_per_wave` of how many lanes the waves are that run it; each target has
its own list.
Bad:
    HardwareConstraint(mma_type=MMAType.F32_16x16x32_F16)   # on gfx90a
Good:
    HardwareConstraint(mma_type=MMAType.F32_16x16x16_F16)
Fix: choose from the list in the message, or another target.

WV0703: the arguments of a launch are not the parameters of the kernel
Cause: the compiled kernel takes one argument per parameter, outputs
included, by position or by name, each once.
Bad:
    run(a, b)                     # def gemm(a, b, c)
Good:
    c = torch.empty(M, N)
    run(a, b, c)
Fix: pass all of them, in order or as `run(a=a, b=b, c=c)`; outputs are
written in place.

WV0704: an argument is of a kind that cannot be passed
Cause: a memory parameter takes a torch tensor, a numpy array, or another
dense array that speaks DLPack.
Bad:
    run([1.0, 2.0], b, c)
Good:
    run(torch.tensor([1.0, 2.0]), b, c)
Fix: convert the argument; unpack wrappers and masked arrays.

WV0705: an argument has another element type than the kernel
Cause: the code was compiled for one element type; nothing is converted
silently.
Bad:
    run(a.float(), b, c)          # a: Memory[M, K, ..., f16]
Good:
    run(a.half(), b, c)
Fix: convert the argument, or compile for its type.

WV0706: an argument has another number of dimensions than the kernel
Cause: a memory over [M, K] takes arrays with two dimensions.
Bad:
    run(a.flatten(), b, c)
Good:
    run(a.reshape(M, K), b, c)
Fix: reshape the argument, or add the dimension to the kernel.

WV0707: an argument has another shape than the kernel was compiled for
Cause: the size of a dimension was bound at compile time, and the argument
has another.
Bad:
    options = WaveCompileOptions(subs={M: 512})
    run(torch.empty(256, K), b, c)
Good:
    options = WaveCompileOptions(dynamic_symbols=[M])
Fix: pass the right shape, compile for this one, or make the symbol dynamic.

WV0708: an argument lies on another device
Cause: all arrays of a launch lie on the device that runs the kernel.
Bad:
    run(a.cuda(), b, c)           # b on the CPU
Good:
    run(a.cuda(), b.cuda(), c.cuda())
Fix: move the arrays; outputs are never copied behind your back.

WV0709: an argument is laid out in a way that the kernel cannot address
Cause: the kernel computes addresses from strides counted in elements. A
sparse or lazily negated tensor, a foreign byte order, or strides the kernel
was not compiled for do not fit.
Bad:
    run(a.t(), b, c)              # compiled for contiguous arguments
Good:
    run(a.t().contiguous(), b, c)
Fix: make a dense copy, or compile with dynamic strides. For an output pass
the array itself: a copy would be lost.

WV0710: an argument is not aligned
Cause: wide accesses need the data to start at a multiple of their width; a
view into the middle of an array may not.
Bad:
    run(buffer[1:], b, c)
Good:
    run(buffer[1:].clone(), b, c)
Fix: pass data that starts where the message says, or compile with fewer
elements per thread.

WV0711: an output cannot be written
Cause: the kernel writes this argument, and the array is read-only.
Bad:
    c = np.broadcast_to(zero, (M, N)); run(a, b, c)
Good:
    c = np.empty((M, N), np.float32); run(a, b, c)
Fix: pass an array that can be written.

WV0712: an output overlaps itself or another argument
Cause: threads write outputs in no particular order. Where memory is shared
with another argument, or with itself by an expanded stride, the result is
a matter of luck.
Bad:
    run(a, b, a)
Good:
    run(a, b, torch.empty_like(a))
Fix: give the output memory of its own.

WV0713: an extent is too large
Cause: offsets are 32-bit numbers unless asked for otherwise; this argument
has elements beyond 2^31 of the unit that the message names.
Bad:
    run(torch.empty(70_000, 70_000), b, c)
Good:
    for part in a.split(16_384): run(part, ...)
Fix: split the launch.

WV0714: an argument takes part in autograd
Cause: the kernel writes in place and has no backward. A tensor that
requires a gradient would silently get a wrong one, and the tangent of a dual
tensor would be lost.
Bad:
    run(weight, x, y)             # weight.requires_grad
Good:
    with torch.no_grad(): run(weight.detach(), x, y)
Fix: detach, or wrap the kernel in a `torch.autograd.Function`. Inputs pass
under `torch.no_grad()`, outputs never; of dual tensors pass the primal.

WV0715: a scalar argument does not fit its type
Cause: a scalar parameter has an element type, which the number given must
fit without loss of its kind.
Bad:
    run(a, b, 2.5)                # count: tkl.i32
Good:
    run(a, b, 2)
Fix: pass a number of that type, within its range.

WV0716: two arguments disagree on the size of a dimension
Cause: a dynamic symbol takes its value from the shapes, and two of them
say something else.
Bad:
    run(torch.empty(64, 32), torch.empty(64, 48), c)      # K is 32 and 48
Good:
    run(torch.empty(64, 32), torch.empty(64, 32), c)
Fix: pass arrays of matching shapes; the message shows both parameters.

WV0717: the shapes do not tell the value of a symbol
Cause: a dynamic symbol occurs only inside expressions that cannot be solved
for it, or the extent given solves them by no whole number.
Bad:
    a: Memory[M * N, ...]         # M and N dynamic, in no other shape
Good:
    a: Memory[M, N, ...]
Fix: let each dynamic symbol be a dimension of some argument, or bind it by
a `SymbolBind` parameter.

WV0718: an assumption does not hold for this launch
Cause: the kernel was compiled on the strength of an `Assumption` that these
sizes contradict. Running it could give wrong results.
Bad:
    tkw.Assumption(K >= 64); run(torch.empty(M, 32), b, c)
Good:
    run(torch.empty(M, 64), b, c)
Fix: use other sizes, or compile without the assumption.

WV0719: nothing here can run the kernel
Cause: no device or simulator of that name is installed, or none fits the
target of the kernel.
Bad:
    WaveCompileOptions(device="hip")           # on a machine without a GPU
Good:
    WaveCompileOptions(device="sim")
Fix: choose a device that the message lists, or install the package that
has it. `wave doctor` says what is missing.

WV0720: simulating the launch would take very long
Cause: there is no GPU, and the simulator on the CPU would need more steps
than the limit.
Bad:
    run(a, b, c)                  # 8192 x 8192 x 8192, on the simulator
Good:
    run(a[:128], b[:128], c[:128, :128])
Fix: simulate a small size, or force it as the message says.

WV0721: a log of a kernel has too many elements
Cause: `debug_log` keeps the whole tensor of which the register is a tile, for each
iteration that it names. More than 4 GiB is not allocated.
Bad:
    tkw.debug_log(scores, extra_iteration_dimensions=[K])    # [K / 32, B, H, M, N]
Good:
    tkw.debug_log(scores)
Fix: launch a smaller problem, or log less.

WV0722: the logs of a launch are no dictionary of logs
Cause: the logs of a launch are entered into a dictionary of the caller, which
`html_viewer` takes as it is.
Bad:
    kernel(a, b, debug_logs=True)
Good:
    logs = {}
    kernel(a, b, debug_logs=logs)
Fix: give a dictionary.
""")
