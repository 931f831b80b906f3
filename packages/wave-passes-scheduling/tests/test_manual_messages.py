"""What authors of schedules are told, and of which line."""

from __future__ import annotations

import pytest
from tagged_kernels import (
    GEMM_SCHEDULES,
    GLOBAL,
    K,
    M,
    N,
    compiled,
    gemm_nodes,
    tagged_gemm,
    two_stages,
)

import wave_core.lang as tkw
from wave_core.compile import SchedulingType
from wave_core.diagnostics import UserError

SIZES = {M: 40, N: 33, K: 160}


def refusal(write, tile=(64, 64, 32), space=tkw.SHARED_ADDRESS_SPACE, **options):
    """The diagnostic of a schedule whose function is given."""
    with pytest.raises(UserError) as caught:
        compiled(tagged_gemm(tile, space), tkw.wave_schedule(write), SIZES, **options)
    (found,) = caught.value.diagnostics
    return found


def line_of(found):
    """The text of the line that a diagnostic points at."""
    return found.location.source_line(found.location.line).strip()


def test_a_tag_that_no_op_has():
    def schedule():
        tkw.get_node_by_tag("read_aa")

    found = refusal(schedule)
    assert (found.code, line_of(found)) == ("WV0503", 'tkw.get_node_by_tag("read_aa")')
    assert "did you mean `read_a`?" in found.help
    assert "`k_loop`, `mma`, `read_a`, `read_b`" in found.notes[0]


def test_a_type_that_no_op_with_the_tag_has():
    def schedule():
        tkw.get_node_by_tag_and_type("read_a", tkw.Write)

    found = refusal(schedule, space=GLOBAL)
    assert found.code == "WV0503"
    assert "no `write` of `gemm` has tag `read_a`" in found.message
    assert any("read" in note for note in found.notes)


def test_a_list_without_nodes():
    def schedule():
        reads = tkw.get_node_by_tag_and_type("read_a", tkw.Read)
        _, staged = tkw.partition_by_address_space(reads, GLOBAL)
        with tkw.pipeline(tkw.get_node_by_tag("k_loop")) as p:
            p.set_stage([(staged,)])

    found = refusal(schedule, space=GLOBAL)
    assert (found.code, line_of(found)) == ("WV0503", "p.set_stage([(staged,)])")


def test_stages_of_different_lengths():
    def schedule():
        fetches, stores, loads, mma = gemm_nodes()
        with tkw.pipeline(tkw.get_node_by_tag("k_loop")) as p:
            p.set_stage([fetches, stores])
            p.set_stage([(*loads, mma)])

    found = refusal(schedule)
    assert (found.code, line_of(found)) == ("WV0513", "p.set_stage([(*loads, mma)])")
    assert found.message == "a stage of 1 places follows one of 2"


def test_an_op_at_two_places():
    def schedule():
        _, _, loads, mma = gemm_nodes()
        with tkw.pipeline(tkw.get_node_by_tag("k_loop")) as p:
            p.set_stage([loads, (mma,)])
            p.set_stage([(mma[0],), ()])

    found = refusal(schedule)
    assert (found.code, line_of(found)) == ("WV0513", "p.set_stage([(mma[0],), ()])")
    assert "stage 0, place 1 and at stage 1, place 0" in found.message


def test_an_op_outside_of_the_loop():
    def schedule():
        loop = tkw.get_node_by_tag("k_loop")
        with tkw.pipeline(loop) as p:
            p.set_stage([(loop,)])

    assert refusal(schedule).code == "WV0513"


def test_stages_that_break_a_dependence():
    def schedule():
        fetches, stores, loads, mma = gemm_nodes()
        with tkw.pipeline(tkw.get_node_by_tag("k_loop")) as p:
            p.set_stage([fetches, (mma,)])
            p.set_stage([loads, stores])

    found = refusal(schedule)
    assert found.code == "WV0502"
    assert line_of(found).startswith("p.set_stage(")
    assert any(" -> " in note for note in found.notes)


def test_too_few_buffers_name_the_edge_and_the_way_out():
    def schedule():
        fetches, stores, loads, mma = gemm_nodes()
        loop = tkw.get_node_by_tag("k_loop")
        with tkw.pipeline(loop, multi_buffer_count=1) as p:
            p.set_stage([fetches, stores])
            p.set_stage([(), ()])
            p.set_stage([loads, (mma,)])

    found = refusal(schedule)
    assert found.code == "WV0502"
    assert "1 iterations later" in found.message
    assert any(note.endswith(", memory") for note in found.notes)
    assert any("multi_buffer_count=2" in row for row in found.help)


def test_buffers_that_do_not_fit():
    def schedule():
        fetches, stores, loads, mma = gemm_nodes()
        with tkw.pipeline(tkw.get_node_by_tag("k_loop")) as p:
            p.set_stage([fetches, stores])
            p.set_stage([(), ()])
            p.set_stage([(), ()])
            p.set_stage([loads, (mma,)])

    found = refusal(schedule, tile=(128, 128, 64))
    assert found.code == "WV0406"
    assert "need 3 copies of LDS buffers" in found.message
    assert "2 of each fit" in found.notes[0] or "1 of each fit" in found.notes[0]


def test_an_order_that_breaks_a_dependence():
    def schedule():
        _, _, loads, mma = gemm_nodes()
        loop = tkw.get_node_by_tag("k_loop")
        tkw.reorder_graph(loop, [tkw.cluster([mma]), tkw.cluster([loads])])

    found = refusal(schedule)
    assert (found.code, line_of(found)) == (
        "WV0502",
        "tkw.reorder_graph(loop, [tkw.cluster([mma]), tkw.cluster([loads])])",
    )
    assert any("-> mma_" in note for note in found.notes)


def pipelined():
    """Two stages of the product, and its matrix ops."""
    fetches, stores, loads, mma = gemm_nodes()
    with tkw.pipeline(tkw.get_node_by_tag("k_loop")) as p:
        p.set_stage([fetches, stores])
        p.set_stage([loads, (mma,)])
    return p, mma


def test_nodes_of_several_bodies():
    def schedule():
        _, mma = pipelined()
        tkw.insert_before(mma, tkw.SetWavePrio(1))

    found = refusal(schedule)
    assert (found.code, line_of(found)) == (
        "WV0514",
        "tkw.insert_before(mma, tkw.SetWavePrio(1))",
    )
    assert "filter_nodes(nodes, subgraph=p.KERNEL)" in found.help[0]


def test_a_cluster_of_another_body():
    def schedule():
        p, mma = pipelined()
        outside = tkw.filter_nodes(mma, subgraph=p.EPILOGUE)
        tkw.reorder_graph(p.KERNEL, [tkw.cluster([outside])])

    assert refusal(schedule).code == "WV0514"


def test_parts_that_are_more_than_the_places():
    def schedule():
        tkw.partition_by_dim(tkw.get_node_by_tag_and_type("mma", tkw.MMA), K, 9)

    found = refusal(schedule)
    assert (found.code, "not 9" in found.message) == ("WV0503", True)


def test_what_is_unrolled_is_a_loop():
    def schedule():
        tkw.unroll(tkw.get_node_by_tag("mma"), 2)

    assert refusal(schedule).code == "WV0514"


def test_a_node_beyond_the_list():
    def schedule():
        tkw.get_node_by_tag("k_loop")[5]

    found = refusal(schedule)
    assert (found.code, "node 5" in found.message) == ("WV0503", True)


def test_a_schedule_that_the_options_do_not_ask_for():
    with pytest.raises(UserError, match="schedule=none") as caught:
        compiled(tagged_gemm(), two_stages, SIZES, schedule=SchedulingType.NONE)
    assert caught.value.code == "WV0512"


@pytest.mark.parametrize(
    ("by_hand", "options"),
    [
        (None, {"schedule": SchedulingType.MANUAL}),
        (two_stages, {"override_schedule": "gemm.txt"}),
        (two_stages, {"unroll_factor": 2}),
    ],
)
def test_options_that_contradict_the_schedule(by_hand, options):
    with pytest.raises(UserError, match="a manual schedule is asked for") as caught:
        compiled(tagged_gemm(), by_hand, SIZES, **options)
    assert caught.value.code == "WV0512"


def test_what_is_no_schedule():
    with pytest.raises(UserError, match="got a function for a schedule") as caught:
        compiled(tagged_gemm(), lambda: None, SIZES)
    assert caught.value.code == "WV0512"


def test_waves_that_cannot_be_staggered_are_reported():
    @tkw.wave_schedule
    def schedule():
        tkw.stagger(tkw.get_node_by_tag("k_loop"))

    warnings = compiled(tagged_gemm(), schedule, SIZES).warnings
    assert [row.code for row in warnings] == ["WV0506"]


def test_every_schedule_has_a_digest_of_its_own():
    assert len({s.digest() for s in GEMM_SCHEDULES.values()}) == len(GEMM_SCHEDULES)
