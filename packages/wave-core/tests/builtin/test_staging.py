"""Staging requests where nothing grants them."""

from __future__ import annotations

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.builtin.place.staging import ReadWithoutStaging
from wave_core.ir import regions
from wave_core.passes import PassContext
from wave_core.targets import generic_target
from wave_core.types import AddressSpace

M, K = tkl.sym.M, tkl.sym.K


def traced(space):
    constraints = [tkw.WorkgroupConstraint(M, 16, 0), tkw.TilingConstraint(K, 16)]

    @tkw.wave([*constraints, tkw.HardwareConstraint(threads_per_wave=64)])
    def kernel(
        a: tkl.Memory[M, K, space, tkl.f32],
        b: tkl.Memory[M, K, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.iterate(K)
        def body():
            tkw.write(tkw.read(a), b)

    return kernel.trace({"M": 16, "K": 32})


def spaces(graph):
    arguments = [a for region in regions(graph.body) for a in region.arguments]
    return {argument.type.space for argument in arguments}


def test_the_argument_is_read_from_global_memory_and_named_in_a_warning():
    graph, context = traced(tkl.SHARED_ADDRESS_SPACE), PassContext(generic_target())
    assert ReadWithoutStaging().apply(graph, context)
    assert spaces(graph) == {AddressSpace.GLOBAL}
    (warning,) = context.collector.warnings
    assert (warning.code, "`a`" in warning.message) == ("WV0408", True)
    graph.verify()


def test_nothing_is_said_where_it_has_been():
    graph, context = traced(tkl.SHARED_ADDRESS_SPACE), PassContext(generic_target())
    assert ReadWithoutStaging(told=True).apply(graph, context)
    assert spaces(graph) == {AddressSpace.GLOBAL}
    assert not context.collector.warnings


def test_nothing_is_said_where_nothing_is_asked():
    graph, context = traced(tkl.GLOBAL_ADDRESS_SPACE), PassContext(generic_target())
    assert not ReadWithoutStaging().apply(graph, context)
    assert not context.collector.warnings
