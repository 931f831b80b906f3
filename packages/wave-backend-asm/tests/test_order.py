"""The list scheduler: slow results go first, and no more is live than may be."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from wave_backend_asm.order.listing import Listing
from wave_backend_asm.order.nodes import Node, Price, needs_of
from wave_backend_asm.order.room import Limits, Region, Registers, Room, Sort, Uses

LOAD = Price("vmem", 4, 16, 32, 400)
LANE = Price("valu", 4, 4)
PRODUCT = Price("mfma", 4, 32, 0, 12, chains=True)
MASK = Price("valu", 4, 4, settles=8)


def node(price, writes=(), reads=(), adds=()):
    return Node(frozenset([*reads, *adds]), frozenset(writes), price, frozenset(adds))


def region(nodes, widths, behind=(), before=()):
    rows = {name: Registers(Sort.LANES, width) for name, width in widths.items()}
    return Region(nodes, rows, frozenset(before), frozenset(behind))


def limits(vectors):
    return Limits(100, vectors, vectors)


def schedule(given, most):
    return Listing(given).within(most)


def chains(count, between=0):
    """Slow loads, each with who uses its result right behind it."""
    nodes, widths = [], {}
    for n in range(count):
        widths |= {f"loaded{n}": 4, f"done{n}": 1}
        nodes += [node(LOAD, [f"loaded{n}"]), node(LANE, [f"done{n}"], [f"loaded{n}"])]
        nodes += [node(LANE) for _ in range(between)]
    done = [f"done{n}" for n in range(count)]
    return region([*nodes, node(LANE, (), done)], widths)


def test_loads_go_first_where_there_is_room():
    given = chains(4)
    found = schedule(given, limits(512))
    assert found[:4] == [0, 2, 4, 6]
    assert Listing(given).cycles(found) < Listing(given).cycles(range(9)) / 2


def test_a_load_goes_before_arithmetic_that_does_not_need_it():
    given = region(
        [*[node(LANE, ["sum"], ["sum"]) for _ in range(9)], node(LOAD, ["loaded"]),
         node(LANE, ["sum"], ["sum", "loaded"])],
        {"sum": 1, "loaded": 4}, before=["sum"], behind=["sum"],
    )  # fmt: skip
    assert schedule(given, limits(512)) == [9, *range(9), 10]


def test_arithmetic_that_nobody_waits_for_stays_as_it_was():
    given = region([node(LANE, [f"v{n}"]) for n in range(8)], {})
    assert schedule(given, limits(512)) == [*range(8)]


def test_products_hide_arithmetic():
    """Between products that keep their unit goes what does not need them."""
    products = [node(PRODUCT, ["acc"], ["a", "b"], ["acc"]) for _ in range(4)]
    others = [node(LANE, [f"v{n}"]) for n in range(20)]
    given = region([*products, *others], {"acc": 4}, before=["acc"], behind=["acc"])
    found = schedule(given, limits(512))
    places = [found.index(n) for n in range(4)]
    assert [b - a for a, b in pairwise(places)] == [8, 8, 7]
    assert Listing(given).cycles(found) == 3 * 32 + 32 + 12


def test_sums_are_chained_and_factors_are_waited_for():
    first, second = (node(PRODUCT, ["acc"], ["a"], ["acc"]) for _ in range(2))
    other = node(PRODUCT, ["new"], ["acc"], ["zero"])
    needs = needs_of([first, second, other])
    assert needs[1].others == {0}
    assert not needs[1].results
    assert needs[2].results == {1}


def test_wait_states_are_filled():
    """What reads a mask comes some instructions behind it, where there are others."""
    nodes = [node(MASK, ["m0"]), node(LANE, ["v0"], ["m0"]),
             node(MASK, ["m1"]), node(LANE, ["v1"], ["m1"])]  # fmt: skip
    assert schedule(region(nodes, {}), limits(512)) == [0, 2, 1, 3]


@pytest.mark.parametrize(("price", "live"), [(MASK, 6), (LANE, 2)])
def test_scalars_to_spare_are_taken_where_they_save_time(price, live):
    """Masks fill each other's wait states; where there are none, one is enough."""
    pairs = [
        (node(price, [f"m{n}"]), node(LANE, [f"v{n}"], [f"m{n}"])) for n in range(6)
    ]
    rows = {f"m{n}": Registers(Sort.SCALARS, 2) for n in range(6)}
    orders = Listing(Region([each for pair in pairs for each in pair], rows))
    few, many = (Limits(count, 9, 9) for count in (2, 10))
    found = orders.within(many, 8)
    assert orders.peak(found).scalars == live
    assert orders.peak(orders.within(few)).scalars == 2
    saved = orders.cycles(orders.within(few)) - orders.cycles(found)
    assert saved == (6 * MASK.settles if price is MASK else 0)


def test_no_more_is_live_than_may_be():
    given = chains(6)
    orders = Listing(given)
    peaks = {n: orders.peak(orders.within(limits(n))).vectors for n in (24, 9, 12)}
    assert all(found <= most for most, found in peaks.items()), peaks
    assert peaks[9] < peaks[24]


def test_one_limit_says_nothing_about_the_next():
    given = chains(6)
    orders = Listing(given)
    for most in (24, 9, 12, 9, 24, 1):
        assert orders.within(limits(most)) == schedule(given, limits(most))


@pytest.mark.parametrize("seed", range(20))
def test_growth_is_the_same_whenever_it_is_asked_for(seed):
    """Nodes read and write a few names again and again, some of them of no register."""
    draw = np.random.default_rng(seed)
    rows = {n: Registers(Sort(n % 3), int(draw.integers(1, 5))) for n in range(8)}
    names = [*rows, "memory", "condition"]

    def some(count):
        return [names[n] for n in draw.choice(len(names), count, replace=False)]

    nodes = [node(LANE, some(draw.integers(0, 4)), some(3)) for _ in range(30)]
    given = Region(nodes, rows, frozenset([0, 1]), frozenset([1, 2, "memory"]))
    uses, order = Uses(given), [*draw.permutation(30)]
    asked = Room(uses)
    for count, number in enumerate(order):
        fresh = Room(uses)
        for each in order[:count]:
            fresh.take(each)
        for each in order[count:]:
            assert asked.growth(each) == fresh.growth(each)
        asked.take(number)


def test_what_lives_in_either_file_counts_with_both():
    rows = {"a": Registers(Sort.EITHER, 4), "b": Registers(Sort.LANES, 2),
            "s": Registers(Sort.SCALARS, 3)}  # fmt: skip
    nodes = [node(LANE, [name]) for name in rows] + [node(LANE, (), rows)]
    assert Listing(Region(nodes, rows)).peak(range(4)) == (3, 2, 6)


def test_the_given_order_stays_where_nothing_else_fits():
    given = chains(6)
    assert schedule(given, limits(1)) == [*range(13)]


def test_what_has_to_stay_in_order_stays():
    nodes = [node(LOAD, ["memory"]), node(LANE, (), ["memory"])] * 3
    assert schedule(region(nodes, {}), limits(512)) == [*range(6)]


def test_who_reads_goes_before_who_overwrites():
    nodes = [node(LANE, ["value"]), node(LANE, ["other"], ["value"]),
             node(LOAD, ["value"]), node(LANE, (), ["value", "other"])]  # fmt: skip
    assert schedule(region(nodes, {}), limits(512)) == [0, 1, 2, 3]


def test_who_reads_what_is_on_its_way_comes_late():
    """A load in front of all of them lands while others work."""
    nodes = [node(LANE, ["first"], ["loaded"]), node(LANE, ["second"], ["first"])]
    nodes += [node(LANE, [f"v{n}"]) for n in range(20)]
    given = replace(region(nodes, {}, before=["loaded"]), lands={"loaded": 60})
    assert given.starts == [60] + 21 * [0]
    found = schedule(given, limits(512))
    assert (found.index(0), found.index(1)) == (15, 16)
    assert Listing(given).cycles(found) == 22 * 4
    assert Listing(given).cycles(range(22)) == 60 + 22 * 4


def test_what_is_written_again_is_not_what_was_on_its_way():
    nodes = [node(LANE, ["loaded"]), node(LANE, ["sum"], ["loaded"])]
    given = replace(region(nodes, {}), lands={"loaded": 60})
    assert given.starts == [0, 0]


def trap(count):
    """Many loads, of which each is wanted with all others, and then one by one."""
    nodes, widths = [], {}
    for n in range(count):
        widths |= {f"a{n}": 4, f"b{n}": 4, f"c{n}": 1}
        nodes += [node(LOAD, [f"a{n}"]), node(LOAD, [f"b{n}"], [f"a{n}"])]
        nodes += [node(LANE, [f"c{n}"], [f"a{n}", f"b{n}"])]
    return region([*nodes, node(LANE, (), [f"c{n}" for n in range(count)])], widths)


@pytest.mark.parametrize("most", [4, 8, 9, 12, 20, 512])
def test_an_order_that_needs_more_than_there_is_is_told(most):
    """Then there is none but the one that was given."""
    listing = Listing(trap(8))
    found = listing.within(limits(most))
    if listing.lacks(limits(most)):
        assert most < 512
        assert found == [*range(len(found))]
    assert listing.peak(found).vectors <= max(most, listing.peak(range(25)).vectors)
    assert listing.within(limits(most)) is found
