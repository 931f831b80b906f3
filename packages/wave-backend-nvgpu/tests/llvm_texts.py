"""Small kernels as LLVM IR, written by hand."""

from __future__ import annotations

HEAD = """\
target datalayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-\
i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.sin.f32(float)

define ptx_kernel void @mapped(ptr addrspace(1) %a, ptr addrspace(1) %b) \
"nvvm.maxntid"="128" {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %a, i32 %t
  %q = getelementptr float, ptr addrspace(1) %b, i32 %t
  %x = load float, ptr addrspace(1) %p
"""
TAIL = """\
  store float %y, ptr addrspace(1) %q
  ret void
}
"""
DOUBLED = f"{HEAD}  %y = fadd float %x, %x\n{TAIL}"
MALFORMED = f"{HEAD}  %y = fadd flot %x, %x\n{TAIL}"
UNVERIFIED = f"{HEAD}  %y = fadd float %z, %z\n  %z = fadd float %x, %x\n{TAIL}"
ABORTING = f"{HEAD}  %y = call float @llvm.sin.f32(float %x)\n{TAIL}"
"""LLVM knows the sine of NVIDIA GPUs only where it may be approximate."""


def spilling(values: int) -> str:
    """A kernel that keeps so many values of a thread at a time."""
    rows: list[str] = []
    for at in range(values):
        rows += [
            f"  %a{at} = getelementptr float, ptr addrspace(1) %a, i32 {at * 128}",
            f"  %l{at} = load volatile float, ptr addrspace(1) %a{at}",
        ]
    last = "%x"
    for at in reversed(range(values)):
        rows.append(f"  %s{at} = fadd float {last}, %l{at}")
        last = f"%s{at}"
    rows.append(f"  %y = fadd float {last}, %x")
    return HEAD + "\n".join(rows) + "\n" + TAIL


def endless(steps: int) -> str:
    """Work that no limit of a test waits for: sums of sums, each of them twice."""
    rows = ["  %v0 = fadd float %x, %x"]
    rows += [
        f"  %v{at} = fmul float %v{at - 1}, %v{max(at - 2, 0)}"
        for at in range(1, steps)
    ]
    rows.append(f"  %y = fadd float %v{steps - 1}, %x")
    return HEAD + "\n".join(rows) + "\n" + TAIL
