"""The list scheduler: slow results go first, and no more is live than may be."""

from __future__ import annotations

from programs_by_hand import Val, op

from wave_backend_asm.order.listing import Region, dependences, makespan, schedule


def chains(count):
    """Slow loads, each with who uses its result right behind it."""
    loaded = [Val(f"loaded{n}", 4) for n in range(count)]
    done = [Val(f"done{n}") for n in range(count)]
    code = []
    for one, two in zip(loaded, done, strict=True):
        code += [op(None, [one], source="load"), op(None, [two], [one])]
    return [*code, op(None, (), done)]


def latency(operation):
    return 40 if operation.source == "load" else 4


def apart(_one, _two):
    return False


def cycles(order, given):
    region = Region.alone(given)
    numbers = [given.index(each) for each in order]
    return makespan(numbers, dependences(region, apart), [latency(o) for o in given])


def test_loads_go_first_where_there_is_room():
    given = chains(4)
    found = schedule(Region.alone(given), latency, apart, 512)
    assert [each.source for each in found[:4]] == ["load"] * 4
    assert cycles(found, given) < cycles(given, given) / 2


def test_no_more_is_live_than_may_be():
    given = chains(6)
    region = Region.alone(given)
    peaks = {n: region.peak(schedule(region, latency, apart, n)) for n in (9, 12, 24)}
    assert all(peak <= most for most, peak in peaks.items()), peaks
    assert peaks[9] < peaks[24]


def test_the_given_order_stays_where_nothing_else_fits():
    given = chains(6)
    assert schedule(Region.alone(given), latency, apart, 1) == given


def test_what_has_to_stay_in_order_stays():
    given = chains(4)
    loads = [each for each in given if each.source == "load"]
    found = schedule(Region.alone(given), latency, lambda one, two: two in loads, 512)
    assert found == given


def test_who_reads_goes_before_who_overwrites():
    value, other = Val("value"), Val("other")
    again = op(None, [value], source="load")
    first, reader = op(None, [value]), op(None, [other], [value])
    given = [first, reader, again, op(None, (), [value, other])]
    assert schedule(Region.alone(given), latency, apart, 512) == given
