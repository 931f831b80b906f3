"""Accesses that cannot be: what the author reads."""

# ruff: noqa: E501 - messages are as long as the lines that they show

from __future__ import annotations

import pytest
from test_bad_loops import rendered

CASES = {
    "bounds of what is no dim": (
        "tkw.write(tkw.read(a, bounds={K: K}), b)",
        """\
error[WV0418]: `bounds` names `K`
   --> users_file.py:24:19 in kernel
24 |         tkw.write(tkw.read(a, bounds={K: K}), b)
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^ accesses a memory with dims [M, N]
   = help: give ends for dims of the memory: `bounds={N: N}`""",
    ),
    "bounds without dims": (
        "tkw.write(tkw.read(a), b, bounds=(M, N))",
        """\
error[WV0418]: `bounds` is (M, N)
   --> users_file.py:24:9 in kernel
24 |         tkw.write(tkw.read(a), b, bounds=(M, N))
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ accesses a memory with dims [M, N]
   = help: give ends for dims of the memory: `bounds={N: N}`""",
    ),
    "bounds that no index reaches": (
        "tkw.write(tkw.read(a, bounds={M: 2**64}), b)",
        """\
error[WV0418]: `bounds` ends `M` beyond 64 bits
   --> users_file.py:24:19 in kernel
24 |         tkw.write(tkw.read(a, bounds={M: 2**64}), b)
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ accesses a memory with dims [M, N]
   = help: give ends for dims of the memory: `bounds={N: N}`""",
    ),
    "a view of no buffer": (
        "tkw.allocate((M,), (16,), tkl.f32, parent=a)",
        """\
error[WV0420]: `allocate` got the parent <Value mem<M, N, global, f32>>
   --> users_file.py:24:9 in kernel
24 |         tkw.allocate((M,), (16,), tkl.f32, parent=a)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: give a buffer of `allocate` as `parent=`, and `offset=` in bytes, a multiple of 16""",
    ),
    "an offset into nothing": (
        "tkw.allocate((M,), (16,), tkl.f32, offset=16)",
        """\
error[WV0420]: `allocate` got an offset and no parent
   --> users_file.py:24:9 in kernel
24 |         tkw.allocate((M,), (16,), tkl.f32, offset=16)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: give a buffer of `allocate` as `parent=`, and `offset=` in bytes, a multiple of 16""",
    ),
    "a view between places": (
        """
pool = tkw.allocate((N,), (64,), tkl.i8)
tkw.allocate((M,), (4,), tkl.f32, parent=pool, offset=8)
""",
        """\
error[WV0420]: the offset 8 is no multiple of 16 bytes
   --> users_file.py:26:9 in kernel
26 |         tkw.allocate((M,), (4,), tkl.f32, parent=pool, offset=8)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: give a buffer of `allocate` as `parent=`, and `offset=` in bytes, a multiple of 16""",
    ),
    "a view beyond its buffer": (
        """
pool = tkw.allocate((N,), (64,), tkl.i8)
tkw.allocate((M,), (16,), tkl.f32, parent=pool, offset=16)
""",
        """\
error[WV0420]: a view ends at byte 80 of a buffer of 64 bytes
   --> users_file.py:26:9 in kernel
25 |         pool = tkw.allocate((N,), (64,), tkl.i8)
   |                --------------------------------- the buffer has 64 bytes
26 |         tkw.allocate((M,), (16,), tkl.f32, parent=pool, offset=16)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: make the buffer larger, or begin the view earlier""",
    ),
    "a view at a place of the launch": (
        """
pool = tkw.allocate((N,), (64,), tkl.i8)
tkw.allocate((M,), (4,), tkl.f32, parent=pool, offset=sym.OFFSET)
""",
        """\
error[WV0420]: the offset `OFFSET` is not known at compile time
   --> users_file.py:26:9 in kernel
26 |         tkw.allocate((M,), (4,), tkl.f32, parent=pool, offset=sym.OFFSET)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: give a buffer of `allocate` as `parent=`, and `offset=` in bytes, a multiple of 16""",
    ),
    "a slice with a number too few": (
        "tkw.extract_slice(tkw.read(a), [1], [sym.M, sym.S], [1, 2])",
        """\
error[WV0238]: `extract_slice` of reg<M, N, f32> with offsets [1], sizes [M, S] and strides [1, 2]
   --> users_file.py:24:9 in kernel
24 |         tkw.extract_slice(tkw.read(a), [1], [sym.M, sym.S], [1, 2])
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |                           ----------- this has reg<M, N, f32>
   = help: give one offset, size and stride for each of the last dims; offsets are from 0, strides from 1""",
    ),
    "a slice along what workgroups share": (
        "tkw.write(tkw.extract_slice(tkw.read(a), [1], [K], [1]), c)",
        """\
error[WV0343]: a slice goes along `N`, of which a wave holds a part
   --> users_file.py:24:19 in kernel
20 |     rows = [tkw.WorkgroupConstraint(M, 16, 0), tkw.WorkgroupConstraint(N, 16, 1), tkw.TilingConstraint(K, 16), tkw.HardwareConstraint(threads_per_wave=64)]
   |                                                --------------------------------- cuts `N`
...
24 |         tkw.write(tkw.extract_slice(tkw.read(a), [1], [K], [1]), c)
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ takes elements of others
   = help: give one wave all of `N`, or read the elements by a mapping""",
    ),
    "a slice beyond the end": (
        """
part = tkw.extract_slice(tkw.read(c), [2], [K - 1], [1])
tkw.write(tkw.broadcast(tkw.extract(part, 0), target_shape=[M, N]), b)
""",
        """\
error[WV0343]: a slice ends at element 32 of `K`, which has 32
   --> users_file.py:25:16 in kernel
25 |         part = tkw.extract_slice(tkw.read(c), [2], [K - 1], [1])
   |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 31 elements from 2 on, 1 apart
   |                                  ----------- of this register
   = help: take fewer elements, or begin earlier""",
    ),
    "a slice where not all lanes come": (
        """
row = tkw.read(c)
@tkw.conditional(tkw.read(i) > 0)
def some():
    part = tkw.extract_slice(row, [0], [K - 1], [1])
    tkw.write(tkw.broadcast(tkw.extract(part, 0), target_shape=[M, N]), b)
""",
        """\
error[WV0341]: a slice is taken where not all lanes come along
   --> users_file.py:28:20 in some
26 |         @tkw.conditional(tkw.read(i) > 0)
   |          -------------------------------- some of them do not run this
27 |         def some():
28 |             part = tkw.extract_slice(row, [0], [K - 1], [1])
   |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ needs elements of other lanes
   = help: take the slice before the conditional""",
    ),
    "an iterator of no mapping": (
        "tkw.write(tkw.read(a) + tkw.IndexMapping.iterator(0), b)",
        """\
error[WV0147]: `$index0` is used outside of a mapping
   --> users_file.py:24:19 in kernel
24 |         tkw.write(tkw.read(a) + tkw.IndexMapping.iterator(0), b)
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ one number for a whole tile
   = help: the index of each element is a register: `self_index(M, i32)`
   = help: what a read or write adds to an index goes into its mapping""",
    ),
    "an index register that nobody gives": (
        """
i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
other = tkw.IndexMapping(2, {M: tkw.IndexMapping.dynamic_val(0), N: j}, {M: i, N: j})
tkw.write(tkw.read(a, mapping=other), b)
""",
        """\
error[WV0402]: the mapping uses `$dynamic_val0`, 0 index registers are given
   --> users_file.py:27:19 in kernel
26 |         other = tkw.IndexMapping(2, {M: tkw.IndexMapping.dynamic_val(0), N: j}, {M: i, N: j})
   |                 ----------------------------------------------------------------------------- this mapping
27 |         tkw.write(tkw.read(a, mapping=other), b)
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: give a register for each: `mapping_dynamic_vals=(register,)`""",
    ),
    "an end by an index register that nobody gives": (
        "tkw.write(tkw.read(a, bounds={M: tkw.IndexMapping.dynamic_val(1)}), b)",
        """\
error[WV0418]: `bounds` uses `$dynamic_val1`
   --> users_file.py:24:19 in kernel
24 |         tkw.write(tkw.read(a, bounds={M: tkw.IndexMapping.dynamic_val(1)}), b)
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ accesses a memory with dims [M, N]
   = help: give ends for dims of the memory: `bounds={N: N}`""",
    ),
    "an index that is divided by nothing": (
        """
i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
other = tkw.IndexMapping(2, {M: i // (N - 32), N: j}, {M: i, N: j})
tkw.write(tkw.read(a, mapping=other), b)
""",
        """\
error[WV0308]: `$index0 // (N - 32)` has no value: division of $index0 by zero
   --> users_file.py:27:19 in kernel
27 |         tkw.write(tkw.read(a, mapping=other), b)
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^ `read` uses it
   = help: bind symbols so that nothing is divided by zero""",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_access(tmp_path, case):
    body, expected = CASES[case]
    indented = body.replace("\n", "\n        ")
    assert rendered(tmp_path, {"BODY": indented}) == expected
