"""What is left open: the usual values, what a chooser finds, what users settle."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

import wave_core.lang as tkw
from wave_core.compile import Config, Session, WaveCompileOptions, wave_compile
from wave_core.compile.alternatives import all_choices, as_tried
from wave_core.compile.choosing import (
    TRIED,
    choices,
    first_that_fits,
    open_values,
    settlements,
)
from wave_core.compile.compiler import lower_front
from wave_core.compile.front import front_of
from wave_core.compile.kernels import KernelCase
from wave_core.diagnostics import PluginError, UserError, user_error
from wave_core.plugin import Choice, ChooserSpec, ExecutorSpec, hookimpl
from wave_core.symbols import symbol
from wave_core.targets import RegisterFile
from wave_core.targets.generic import generic_target

N, TILE, WAVES, SPACE = tkw.sym.N, tkw.sym.TILE, tkw.sym.WAVES, tkw.sym.SPACE
ROWS = ((64, 1), (128, 2), (100, 3))


def kernel_with(*tunables):
    @tkw.wave(
        [
            tkw.WorkgroupConstraint(N, TILE, 0),
            tkw.WaveConstraint(N, TILE / WAVES),
            tkw.HardwareConstraint(),
            *tunables,
        ]
    )
    def twice(a: tkw.Memory[N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]):
        value = tkw.read(a)
        tkw.write(value + value, a)

    return twice


TWICE = kernel_with(tkw.Tunable((TILE, WAVES), ROWS))


def options(preset="toy", **more):
    return WaveCompileOptions(subs={"N": 300, **more}, preset=preset, verify_each=True)


def session_with(choose, *executors):
    """A session whose preset ``toy`` chooses by ``choose``."""
    plugin = SimpleNamespace(__name__="toy", REQUIRES_API=(1, 5))

    @hookimpl
    def wave_register_choosers():
        yield ChooserSpec("toy", "toy_chooser:choose")

    @hookimpl
    def wave_register_executors():
        yield from executors

    plugin.wave_register_choosers = wave_register_choosers
    plugin.wave_register_executors = wave_register_executors
    session = Session({"toy": plugin}, config=Config(cache=False), entry_points=())
    session.plugins.load_chooser = lambda _: choose
    return session


def session_that_knows_better(*executors, **choosers):
    """A session with presets that choose, of which some are asked before others."""

    @hookimpl
    def wave_register_choosers():
        for name, (before, _) in choosers.items():
            yield ChooserSpec(name, f"toy_chooser:{name}", before=before)

    @hookimpl
    def wave_register_executors():
        yield from executors

    plugin = SimpleNamespace(__name__="toy", REQUIRES_API=(1, 7))
    plugin.wave_register_choosers = wave_register_choosers
    plugin.wave_register_executors = wave_register_executors
    session = Session({"toy": plugin}, config=Config(cache=False), entry_points=())
    session.plugins.load_chooser = lambda name: choosers[name][1]
    return session


def tiles_of(found):
    return [each.subs[symbol("TILE")] for each in found]


@pytest.mark.parametrize(
    ("settled", "values"),
    [
        ({}, [(64, 1), (128, 2), (100, 3)]),
        ({"TILE": 128}, [(None, 2)]),
        ({"TILE": 32}, [(None, 1)]),
        ({"TILE": 32, "WAVES": 4}, [(None, None)]),
    ],
    ids=["nothing", "one of a row", "one that no row has", "both"],
)
def test_what_is_settled_leaves_the_rows_that_agree(settled, values):
    found = open_values(options(**settled), TWICE, generic_target())
    names = symbol("TILE"), symbol("WAVES")
    assert [tuple(map(row.get, names)) for row in found] == values


def test_several_tunables_combine_and_the_usual_values_come_first():
    kernel = kernel_with(
        tkw.Tunable(TILE, (64, 128)),
        tkw.Tunable(SPACE, (tkw.GLOBAL_ADDRESS_SPACE, tkw.SHARED_ADDRESS_SPACE)),
    )
    found = open_values(options(WAVES=1), kernel, generic_target())
    rows = [(row[symbol("TILE")], str(row[symbol("SPACE")])) for row in found]
    assert rows == [(64, "global"), (64, "shared"), (128, "global"), (128, "shared")]


def test_waves_of_few_lanes_have_values_of_their_own():
    kernel = kernel_with(tkw.Tunable(TILE, (64, 128), narrow=(32, 16)))
    for lanes, tiles in ((64, [64, 128]), (32, [32, 16])):
        target = replace(generic_target(), wave_size=lanes)
        found = open_values(options(WAVES=1), kernel, target)
        assert [row[symbol("TILE")] for row in found] == tiles
    with pytest.raises(UserError, match="narrow") as caught:
        tkw.Tunable((TILE, WAVES), ((64, 2),), narrow=(32,))
    assert caught.value.code == "WV0327"


def test_a_preset_that_does_not_choose_takes_the_usual_values():
    session = Session(config=Config(cache=False), entry_points=())
    (found,) = settlements(options("naive"), TWICE, session)
    assert (found.preset, found.subs[symbol("TILE")]) == ("naive", 64)
    assert front_of(found, TWICE, session).geometry.grid[0].constant_value == 5


def test_the_chooser_is_asked_and_the_plain_preset_comes_last():
    def choose(request):
        assert request.options["verify_each"] is True
        assert "naive" in request.presets
        ordered = sorted(request.values, key=lambda row: -row[symbol("TILE")])
        yield from (Choice(row, {"preset": "naive"}) for row in ordered)
        yield Choice(request.values[0], refused="too slow")

    found = settlements(options(), TWICE, session_with(choose))
    assert tiles_of(found) == [128, 100, 64, 64]
    assert [each.preset for each in found] == ["naive"] * 3 + ["default"]


def test_choosers_that_know_better_are_asked_first():
    def taking(tile):
        return lambda request: [
            Choice(row) for row in request.values if row[symbol("TILE")] == tile
        ]

    session = session_that_knows_better(
        toy=("", taking(64)), tuned=("toy", taking(100)), other=("auto", taking(128))
    )
    assert tiles_of(settlements(options(), TWICE, session)) == [100, 64, 64]
    assert tiles_of(settlements(options("tuned"), TWICE, session)) == [100, 64]
    # There is no chooser `auto` here, and still what is known before it counts.
    assert tiles_of(settlements(options("auto"), TWICE, session)) == [128, 64]


def test_more_waves_than_a_simd_holds_are_refused_before_anything_is_chosen():
    file = RegisterFile(total=512, per_wave=512, granule=8, max_waves=8, simds=4)
    chip, session = replace(generic_target(), registers=file), session_with(list)
    with pytest.raises(UserError, match="`waves_per_eu` is 9") as caught:
        choices(replace(options(), target=chip, waves_per_eu=9), TWICE, session)
    (row,) = caught.value.diagnostics
    assert (row.code, row.help) == ("WV0823", ("it takes a number from 1 to 8",))
    session = session_with(lambda _: [])
    asked = replace(options(), target=chip, waves_per_eu=8)
    assert choices(asked, TWICE, session) == []


def test_choosers_are_told_versions_and_tell_the_user_once():
    told = []

    def choose(request):
        assert request.versions["wave-core"]
        request.announce("topic", "a word")
        return []

    session = session_with(choose)
    session._announce = told.append
    for size in (300, 301):
        settlements(options(N=size), TWICE, session)
    assert told == ["a word"]


@pytest.mark.parametrize("plugins", ["core alone", "installed"])
def test_auto_is_asked_for_where_nothing_is_and_means_default_without_a_chooser(
    plugins,
):
    chosen = {"entry_points": ()} if plugins == "core alone" else {}
    session = Session(config=Config(cache=False), **chosen)
    asked = WaveCompileOptions(subs={"N": 300})
    assert asked.preset == "auto"
    (found,) = settlements(asked, TWICE, session)
    assert (found.preset, found.subs[symbol("TILE")]) == ("default", 64)


def test_the_function_of_the_author_runs_once():
    calls = []

    @tkw.wave(TWICE.constraints)
    def noted(a: tkw.Memory[N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]):
        calls.append(a)
        tkw.write(tkw.read(a), a)

    def choose(request):
        assert request.graph(request.values[0]).name == "noted"
        yield Choice(request.values[0], {"preset": "naive"})

    assert lowered(noted, session_with(choose)).trace_s > 0
    assert len(calls) == 1


def test_what_fails_in_the_function_of_the_author_is_not_blamed_on_the_plugin():
    @tkw.wave(TWICE.constraints)
    def broken(a: tkw.Memory[N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]):
        tkw.write(tkw.read(a) + 1 // 0, a)

    with pytest.raises(ZeroDivisionError):
        lowered(broken, session_with(lambda request: request.graph({}) and []))


def test_a_choice_that_is_refused_after_it_compiled_gives_way():
    def choose(request):
        yield Choice(request.values[1], {"preset": "naive"})

    def check(settled):
        if settled.subs[symbol("TILE")] == 128:
            raise user_error("WV0605", "too large")

    found = first_that_fits(
        options(), TWICE, session_with(choose), lambda settled, *_: settled, check
    )
    assert (found.preset, found.subs[symbol("TILE")]) == ("default", 64)


@pytest.mark.parametrize(
    ("code", "data", "times"),
    [
        ("WV0405", {}, 3),
        ("WV0308", {}, 4),
        ("WV0406", {"needed": 2, "limit": 1}, 4),
        ("WV0604", {"lost": "products one after the other"}, 4),
    ],
    ids=["anything else", "constraints", "fit", "speed"],
)
def test_what_fails_twice_in_the_same_words_is_tried_once_more(code, data, times):
    tried = []

    def choose(request):
        yield from [Choice(request.values[0], {"preset": "naive"})] * 3

    def compiled(settled, *_):
        tried.append(settled.preset)
        raise user_error(code, "refused", **data)

    with pytest.raises(UserError, match=code):
        first_that_fits(options(), TWICE, session_with(choose), compiled)
    assert tried == ["naive"] * (times - 1) + ["default"]


def test_a_choice_knows_how_many_are_left():
    seen = []

    def choose(request):
        yield from [Choice(row, {"preset": "naive"}) for row in request.values[:2]]

    def compiled(settled, _, attempt):
        seen.append(attempt.left)
        if attempt.left:
            raise user_error("WV0406", "too large", needed=2, limit=attempt.left)
        return settled.preset

    session = session_with(choose)
    assert first_that_fits(options(), TWICE, session, compiled) == "default"
    assert seen == [2, 1, 0]


@pytest.mark.parametrize(
    ("changed", "seen", "tile"),
    [
        (0, [(64, 3), (128, 2), (100, 1), (64, 0)], 64),
        (100, [(64, 3), (128, 2), (100, 1)], 100),
    ],
    ids=["by none", "by the last"],
)
def test_loops_that_no_choice_changes_leave_the_best_one(changed, seen, tile):
    tried = []

    def choose(request):
        yield from [Choice(row, {"preset": "naive"}) for row in request.values]

    def compiled(settled, _, attempt):
        size = settled.subs[symbol("TILE")]
        tried.append((size, attempt.left))
        if attempt.left and size != changed:
            raise user_error("WV0501", "the loop is not pipelined", lost="schedule")
        return settled

    found = first_that_fits(options(), TWICE, session_with(choose), compiled)
    assert tried == seen
    assert (found.preset, found.subs[symbol("TILE")]) == ("naive", tile)


def test_what_each_choice_is_refused_for_in_words_of_its_own_leaves_the_next():
    tried = []

    def choose(request):
        yield from [Choice(row, {"preset": "naive"}) for row in request.values[:2] * 2]

    def compiled(settled, *_):
        tried.append(settled.subs[symbol("TILE")])
        if len(tried) < 4:
            raise user_error("WV0405", f"refused at {tried[-1]}")
        return settled.preset

    session = session_with(choose)
    assert first_that_fits(options(), TWICE, session, compiled) == "naive"
    assert tried == [64, 128, 64, 128]


def test_what_only_the_fewest_passes_let_through_is_compiled_by_them():
    told = []

    def compiled(settled, *_):
        if settled.preset != "naive":
            raise user_error("WV0405", "banks collide")
        return settled.preset

    assert first_that_fits(auto(512), TWICE, core_alone(told), compiled) == "naive"
    assert told == ["`twice` is compiled as preset `naive`: banks collide"]


TWICE_CASE = KernelCase(
    kernel=TWICE,
    options=options(),
    shape={},
    make_arguments=lambda _: (),
    reference=lambda _: (),
    outputs=(),
    tolerance=0.0,
)


def test_explaining_puts_what_passes_refuse_behind_what_they_let_through():
    def choose(request):
        yield Choice(request.values[2], {"preset": "naive"})
        yield Choice(request.values[1], {"preset": "naive"})
        yield Choice(request.values[0], {}, refused="slow")

    session = session_with(choose)
    found = [
        choice for _, choice in as_tried(all_choices(TWICE_CASE, session), session)
    ]
    assert [each.subs[symbol("TILE")] for each in found] == [128, 64, 100]
    assert [each.refused.split(":")[0] for each in found] == ["", "slow", "WV0308"]


def test_explaining_says_where_no_more_are_tried():
    def choose(request):
        yield from [Choice(request.values[2], {"preset": "naive"})] * (TRIED + 1)

    session = session_with(choose)
    found = [
        choice for _, choice in as_tried(all_choices(TWICE_CASE, session), session)
    ]
    assert [each.refused.split(":")[0] for each in found[:TRIED]] == ["WV0308"] * TRIED
    assert "no more are tried" in found[TRIED].refused


SOMEWHERE = ExecutorSpec("sim", "nowhere:Nothing")


def launched(kernel, monkeypatch, *refused, **data):
    """The presets under which a kernel is launched; the launch refuses some."""
    tried = []

    def launch(compiled, *_):
        tried.append(compiled.options.preset)
        if compiled.options.preset in refused:
            raise user_error("WV0604", "given up", **data)
        return "a record"

    monkeypatch.setattr("wave_core.compile.kernel.launch", launch)
    kernel()
    return tried


def test_machine_code_that_turns_out_slow_at_the_launch_gives_way(monkeypatch):
    def choose(request):
        yield Choice(request.values[0], {"preset": "naive"})

    session = session_with(choose, SOMEWHERE)
    session.config = Config(cache=True)
    kernel = wave_compile(options(), TWICE, session=session)
    lost = {"lost": "products one after the other"}
    assert launched(kernel, monkeypatch, "naive", **lost) == ["naive", "default"]
    again = wave_compile(options(), TWICE, session=session)
    assert launched(again, monkeypatch, "naive", **lost) == ["default"]
    assert again.options.preset == kernel.options.preset == "default"


def test_where_no_choice_is_left_the_launch_says_why(monkeypatch):
    def choose(request):
        yield Choice(request.values[0], {"preset": "naive"})

    kernel = wave_compile(options(), TWICE, session=session_with(choose, SOMEWHERE))
    with pytest.raises(UserError, match="given up"):
        launched(kernel, monkeypatch, "naive", "default", lost="speed")
    kernel = wave_compile(options(), TWICE, session=session_with(choose, SOMEWHERE))
    with pytest.raises(UserError, match="given up"):
        launched(kernel, monkeypatch, "naive")


@pytest.mark.parametrize("chosen", [[], [Choice({}, {"preset": "default"})]])
@pytest.mark.parametrize(("fewest", "last"), [(3, "naive"), (7, "default")])
def test_machine_code_that_turns_out_to_spill_at_the_launch_gives_way(
    fewest, last, chosen, monkeypatch
):
    spills, tried = {"default": 7, "naive": fewest}, []

    def launch(compiled, *_):
        preset, graph = compiled.options.preset, compiled.lowered
        tried.append(preset)
        if graph.gives_way and spills[preset] > graph.spills_allowed:
            raise user_error("WV0605", "7 are spilled", spilled=7, lost="")
        return "a record"

    monkeypatch.setattr("wave_core.compile.kernel.launch", launch)
    told = []
    session = session_that_knows_better(SOMEWHERE, auto=("", lambda _: chosen))
    session._announce = told.append
    kernel = wave_compile(auto(64), TWICE, session=session)
    kernel()
    after = ["naive"] if last == "naive" else ["naive", "default"]
    assert tried == ["default", *(each.options["preset"] for each in chosen), *after]
    assert kernel.options.preset == last
    assert told == [
        f"`twice` is compiled as preset `{each}`: 7 are spilled" for each in after
    ]


def core_alone(told):
    return Session(config=Config(cache=False), entry_points=(), announce=told.append)


def needs(most, presets=("default",)):
    """Refuses what keeps more than ``most`` in memory, under these presets."""

    def compiled(settled):
        needed = settled.subs[symbol("TILE")]
        if settled.preset in presets and needed > most:
            raise user_error("WV0406", "too large", needed=needed, limit=most, help="-")
        return settled

    return compiled


def auto(tile):
    return WaveCompileOptions(subs={"N": 300, "TILE": tile}, preset="auto")


def test_what_fits_without_staging_is_compiled_so_and_the_change_is_named():
    told = []
    found = first_that_fits(
        auto(512), TWICE, core_alone(told), lambda each, *_: needs(256)(each)
    )
    assert (found.preset, found.subs[symbol("TILE")]) == ("naive", 512)
    (note,) = told
    assert note == (
        "`twice` is compiled as preset `naive`: too large;"
        " with `TILE=256` in place of 512 it fits"
    )


def test_what_compiles_and_could_not_be_used_gives_way_to_the_fewest_passes():
    told = []
    found = first_that_fits(
        auto(512),
        TWICE,
        core_alone(told),
        lambda each, *_: each,
        needs(256),
    )
    assert (found.preset, found.subs[symbol("TILE")]) == ("naive", 512)
    assert "with `TILE=256` in place of 512 it fits" in told[0]


@pytest.mark.parametrize(
    ("most", "helps"),
    [
        (128, ("with `TILE=128` in place of 512 it fits", "-")),
        (64, ("with `TILE=64` in place of 512 it fits", "-")),
        (60, ("-",)),
    ],
    ids=["two halvings", "three", "more"],
)
def test_a_refusal_names_the_smallest_change_that_fits(most, helps):
    check = needs(most, ("default", "naive"))
    with pytest.raises(UserError) as caught:
        first_that_fits(auto(512), TWICE, core_alone([]), lambda each, *_: check(each))
    assert caught.value.diagnostics[0].help == helps


def spilling(**spilled):
    """Refuses machine code that spills more than it may, by preset."""
    tried = []

    def compiled(settled, _, attempt):
        count = spilled[settled.preset]
        tried.append((settled.preset, attempt.spills))
        if attempt.spills is not None and count > attempt.spills:
            raise user_error("WV0605", f"{count} spilled", spilled=count)
        return settled.preset

    return compiled, tried


@pytest.mark.parametrize(
    ("plain", "fewest", "tried"),
    [
        (0, 9, [("default", 0)]),
        (7, 0, [("default", 0), ("naive", 6)]),
        (7, 6, [("default", 0), ("naive", 6)]),
        (7, 7, [("default", 0), ("naive", 6), ("default", None)]),
    ],
)
def test_what_spills_fewer_registers_is_compiled(plain, fewest, tried):
    told = []
    compiled, seen = spilling(default=plain, naive=fewest)
    found = first_that_fits(auto(512), TWICE, core_alone(told), compiled)
    assert seen == tried
    assert found == ("naive" if fewest < plain else "default")
    said = ["`twice` is compiled as preset `naive`: 7 spilled"]
    assert told == (said if found == "naive" else [])


def test_passes_that_the_author_asks_for_are_run_though_code_spills():
    compiled, seen = spilling(default=7, naive=0)
    asked = replace(auto(512), unroll_factor=2)
    assert first_that_fits(asked, TWICE, core_alone([]), compiled) == "default"
    assert seen == [("default", None)]


def test_a_change_does_not_fit_whose_machine_code_spills():
    fits, spills = needs(256, ("default", "naive")), needs(128, ("default", "naive"))

    def compiled(settled, _, attempt):
        # Code is refused for spilling only where there is another way.
        return (spills if attempt.left else fits)(settled)

    with pytest.raises(UserError) as caught:
        first_that_fits(auto(512), TWICE, core_alone([]), compiled)
    said = "with `TILE=128` in place of 512 it fits"
    assert caught.value.diagnostics[0].help == (said, "-")


def test_a_change_does_not_fit_of_which_no_choice_is_estimated_to():
    def choose(request):
        values = request.values[0]
        tile = request.geometry(values).grid[0]
        yield Choice(values, {}, refused="" if tile.constant_value > 2 else "too wide")

    check = needs(256, ("default", "naive"))
    session = session_that_knows_better(auto=("", choose))
    with pytest.raises(UserError) as caught:
        first_that_fits(auto(512), TWICE, session, lambda each, *_: check(each))
    # 300 elements are two tiles of 256, and three of 128.
    said = "with `TILE=128` in place of 512 it fits"
    assert caught.value.diagnostics[0].help == (said, "-")


def test_no_change_is_tried_where_the_smallest_tiles_need_too_much():
    check, tried = needs(60, ("default", "naive")), []

    def compiled(settled, *_):
        tried.append(settled.subs[symbol("TILE")])
        return check(settled)

    with pytest.raises(UserError, match="too large"):
        first_that_fits(auto(512), TWICE, core_alone([]), compiled)
    assert tried == [512, 64, 512]


def test_the_size_of_a_problem_and_the_number_of_waves_are_no_tiles_to_halve():
    @tkw.wave(
        [
            tkw.WorkgroupConstraint(N, N / WAVES * WAVES, 0),
            tkw.WaveConstraint(N, N / WAVES),
            tkw.HardwareConstraint(),
        ]
    )
    def whole(a: tkw.Memory[N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]):
        value = tkw.read(a)
        tkw.write(value + value, a)

    tried = []

    def compiled(settled, *_):
        tried.append(tuple(settled.subs[symbol(s)] for s in ("N", "WAVES")))
        raise user_error("WV0605", "too large", needed=2, limit=1)

    asked = WaveCompileOptions(subs={"N": 512, "WAVES": 4}, preset="auto")
    with pytest.raises(UserError, match="too large") as caught:
        first_that_fits(asked, whole, core_alone([]), compiled)
    assert tried == [(512, 4)] * 2
    assert caught.value.diagnostics[0].help == ()


def test_geometry_and_graph_are_those_of_the_values_asked_for():
    def choose(request):
        *_, last = request.values
        grids = [request.geometry(row).grid[0] for row in request.values[:2]]
        assert [grid.constant_value for grid in grids] == [5, 3]
        with pytest.raises(UserError, match="WV0308"):
            request.geometry(last)
        assert request.graph({}).name == request.graph(request.values[1]).name
        return []

    assert choices(options(), TWICE, session_with(choose)) == []


def test_a_choice_that_cannot_be_compiled_gives_way_to_the_next():
    def choose(request):
        yield Choice(request.values[2], {"preset": "naive"})
        yield Choice(request.values[1], {"preset": "naive"})

    found = lowered(TWICE, session_with(choose))
    assert found.geometry.grid[0].constant_value == 3


def lowered(kernel, session):
    """The kernel as it was traced for the choice that its passes took."""

    def compiled(settled, traces, _):
        front = front_of(settled, kernel, session, traces=traces)
        lower_front(front, kernel)
        return front

    return first_that_fits(options(), kernel, session, compiled)


def test_the_refusal_of_the_plain_preset_is_the_users():
    kernel = kernel_with(tkw.Tunable((TILE, WAVES), ((100, 3),)))
    with pytest.raises(UserError, match="WV0308"):
        lowered(kernel, session_with(lambda _: []))


def test_a_chooser_that_fails_is_blamed():
    def choose(request):
        raise KeyError(str(len(request.values)))

    with pytest.raises(PluginError, match="chooser `toy` of plugin `toy` failed") as e:
        settlements(options(), TWICE, session_with(choose))
    assert e.value.code == "WV0819"


@pytest.mark.parametrize(
    ("symbols", "values", "wanted"),
    [
        (TILE + 1, (1, 2), "`symbols` of Tunable is TILE + 1"),
        (TILE, (), "`values` of Tunable is ()"),
        (TILE, 64, "`values` of Tunable is 64"),
        ((TILE, WAVES), ((64, 1), (128,)), "it takes rows of 2 values"),
    ],
    ids=["expression", "empty", "number", "short row"],
)
def test_what_is_no_tunable(symbols, values, wanted):
    with pytest.raises(UserError) as caught:
        tkw.Tunable(symbols, values)
    assert caught.value.code == "WV0327"
    assert wanted in str(caught.value)


def test_values_that_no_symbol_has():
    kernel = kernel_with(tkw.Tunable(TILE, (64, "wide")))
    with pytest.raises(UserError, match="`TILE` is bound to 'wide'") as caught:
        open_values(options(WAVES=1), kernel, generic_target())
    assert caught.value.code == "WV0822"
