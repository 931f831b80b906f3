"""`wave view` with all packages: what the page holds, and what a browser makes of it.

Tests with a browser need Chromium and its driver (Debian: chromium, chromium-driver).
WAVE_SCREENSHOTS names a folder that takes a picture of each view.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest
import viewed_cases
from browser import CHROMIUM, DRIVER, browser

from wave_core.cli import app

SIMT = f"{viewed_cases.__file__}:add"
REFUSED = f"{viewed_cases.__file__}:wrong"

needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium or chromedriver is not installed"
)

# The arguments of `wave view`, and a line from which all views have something.
GEMM = (["gemm", "--shape", "M=256,N=256,K=64"], "return tkw.mma(tkw.read(a)")
KERNELS = [
    pytest.param(*GEMM, id="gemm"),
    pytest.param([SIMT], "total = tkw.load(a", id="simt"),
    pytest.param(["attention"], "= tkw.mma(tkw.read(k)", id="attention",
                 marks=pytest.mark.fuzz),
    pytest.param(["softmax"], "power = once(lambda", id="softmax",
                 marks=pytest.mark.fuzz),
]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Page and trace of a kernel on gfx942, by the arguments of `wave view`."""
    known = {}
    folder = tmp_path_factory.mktemp("pages")

    def make(arguments):
        key = tuple(arguments)
        if key not in known:
            page = folder / f"{len(known)}.html"
            trace = folder / f"{len(known)}.json"
            told = [*arguments, "--target", "gfx942", "-o", page, "--trace", trace]
            code = app.run_command(["view", *map(str, told)])
            known[key] = code, page, trace
        return known[key]

    return make


def data_of(page):
    found = re.search(
        r'<script[^>]*id="data">(.*?)</script>', page.read_text(), re.DOTALL
    )
    return json.loads(found[1])


def line_of(data, text):
    for number, source in enumerate(data["sources"]):
        for line, row in enumerate(source["lines"], start=1):
            if text in row:
                return [number, line]
    raise AssertionError(text)


def test_every_view_of_a_product_has_its_data(made):
    code, page, _ = made(GEMM[0])
    assert code == 0
    assert page.stat().st_size < 5_000_000
    data = data_of(page)
    place = line_of(data, GEMM[1])
    assert place[0] == 0
    assert data["missing"] == data["problems"] == []
    of_line = [number for number, row in enumerate(data["place_lists"]) if place in row]
    assert all(any(row[2] in of_line for row in s["lines"]) for s in data["stages"])
    assert any(row["places"] in of_line for row in data["layouts"])
    source = f"{data['sources'][0]['file']}:{place[1]}"
    assert {row["source"] for row in data["documents"]["memory"]["buffers"]} == {source}
    assert data["roofline"]["bound_by"]
    products = [row for row in data["code"]["lines"] if "v_mfma" in row["text"]]
    assert products
    assert all(row["place"] == place for row in products)


def test_lines_of_code_are_the_instructions_that_ran(made):
    data = data_of(made(GEMM[0])[1])
    timeline = data["documents"]["cycles"]["timeline"]
    ran = [number for number in data["executed"] if number >= 0]
    assert ran == list(range(len(timeline["instructions"])))
    for number, line in zip(data["executed"], data["code"]["lines"], strict=True):
        if number >= 0:
            name = timeline["instructions"][number]["text"].partition("(")[0]
            shown = line["text"].split()[0]
            assert shown.startswith(name) or name.startswith(shown)


def test_the_trace_has_every_event_in_order(made):
    _, page, trace = made(GEMM[0])
    timeline = data_of(page)["documents"]["cycles"]["timeline"]
    rows = json.loads(trace.read_text())["traceEvents"]
    bars = [row for row in rows if row["ph"] == "X" and row["cat"] != "stall"]
    assert len(bars) == len(timeline["events"])
    assert max(row["ts"] + row["dur"] for row in bars) <= timeline["cycles"] / 1000
    waves = [row for row in rows if row["ph"] == "X" and "pc" in row["args"]]
    ends = {}
    for row in sorted(waves, key=lambda row: (row["tid"], row["ts"])):
        # Rounded to a tenth of a cycle, and a row's bars follow each other.
        assert row["ts"] >= ends.get(row["tid"], 0.0) - 3e-4
        assert row["dur"] >= 0
        ends[row["tid"]] = row["ts"] + row["dur"]


def test_a_kernel_that_is_refused_is_shown_with_the_reason(tmp_path, capsys):
    page = tmp_path / "wrong.html"
    assert (
        app.run_command(["view", REFUSED, "--target", "gfx942", "-o", str(page)]) == 1
    )
    assert "WV0204" in capsys.readouterr().err
    data = data_of(page)
    (problem,) = data["problems"]
    assert problem["place"] == line_of(data, "tkw.write(tkw.read(a), b)")


# ---- in a browser


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    """A browser for all tests of this file."""
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


# A copy is read, not the canvas: Chromium complains of one that is read repeatedly.
PAINTED = """
const colours = (canvas) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height)
    .getContext('2d', {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const read = copy.getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(read.data.buffer)).size;
};
return [...document.querySelectorAll('[role=tabpanel]:not([hidden]) canvas')].every(
  (each) => colours(each) > 3)
"""


def select(tab, page, text):
    """Select the line of the author's that holds ``text``, by a click."""
    data = data_of(page)
    number, line = line_of(data, text)
    picker = "const box = document.querySelector('#source select'); box.value = "
    tab.run(f"{picker}'{number}'; box.dispatchEvent(new Event('change'))")
    tab.click(f"#line-{line} .no")
    return line


def keep_picture(tab, name):
    folder = os.environ.get("WAVE_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.png").write_bytes(tab.screenshot())


@needs_browser
@pytest.mark.parametrize(("arguments", "text"), KERNELS)
def test_every_tab_is_drawn_and_linked_by_the_line(made, tab, arguments, text):
    _, page, _ = made(arguments)
    tab.open(page.as_uri())
    line = select(tab, page, text)
    data = data_of(page)
    names = tab.run(
        "return [...document.querySelectorAll('[role=tab]')].map(e => e.id)"
    )
    for name in names:
        tab.click(f"#{name}")
        panel = f"#{name.replace('tab', 'panel', 1)}"
        assert len("".join(tab.texts(panel))) > 20, name
        tab.until(PAINTED)
        keep_picture(tab, f"{data['kernel']}-{name}")
    marked = {part: len(tab.texts(f"#panel-{part} .hit")) for part in ("ir", "code")}
    assert all(marked.values()), marked
    assert any(f":{line}" in row for row in tab.texts("#panel-cycles tr.hit"))
    assert tab.complaints() == []
    own = ("chrome:", "data:", "about:")
    asked = [url for url in tab.requests() if not url.startswith(own)]
    assert set(asked) <= {page.as_uri()}


@needs_browser
def test_lines_of_functions_in_other_files_are_those_of_their_callers(made, tab):
    _, page, _ = made(["softmax"])
    data = data_of(page)
    tab.open(page.as_uri())
    select(tab, page, "most = fold(tkw.max")
    tab.click("#tab-code")
    assert len(tab.texts("#panel-code .hit")) > 20
    tab.click("#tab-cycles")
    number, line = line_of(data, "return combine(make(), dim=N)")
    file = Path(data["sources"][number]["file"]).name
    (row,) = tab.texts("#panel-cycles tr.hit")
    assert row.startswith(f"{file}:{line}")


@needs_browser
def test_a_click_on_an_instruction_selects_its_line(made, tab):
    _, page, _ = made(GEMM[0])
    tab.open(f"{page.as_uri()}#view=code")
    row = "[...document.querySelectorAll('#panel-code .row')]"
    product = "(each) => each.textContent.includes('v_mfma')"
    tab.run(f"{row}.find({product}).click()")
    line = line_of(data_of(page), GEMM[1])[1]
    assert tab.run("return document.querySelector('#source .hit').id") == f"line-{line}"
    assert tab.run("return location.hash") == f"#view=code&line=0:{line}"
    tab.run("location.hash = '#view=ir'")
    shown = "return document.querySelector('[role=tab][aria-selected=true]').id"
    tab.until(f"{shown} === 'tab-ir'")
    assert tab.texts("#source .hit") == []


@needs_browser
def test_keys_reach_everything(made, tab):
    _, page, _ = made(GEMM[0])
    tab.open(page.as_uri())
    right, down, escape = "\ue014", "\ue015", "\ue00c"
    tab.keys("#tab-summary", right)
    assert tab.run("return document.activeElement.id") == "tab-ir"
    tab.keys("#source [role=listbox]", down)
    chosen = "return document.querySelectorAll('#source [aria-selected=true]').length"
    assert tab.run(chosen) == 1
    tab.keys("#source [role=listbox]", escape)
    assert tab.run(chosen) == 0


@needs_browser
def test_time_is_zoomed_and_read_by_keys(made, tab):
    _, page, _ = made(GEMM[0])
    tab.open(f"{page.as_uri()}#view=cycles")
    (whole,) = tab.texts("#panel-cycles output")
    tab.click("#panel-cycles canvas")
    tab.keys("#panel-cycles canvas", "+")
    (part,) = tab.texts("#panel-cycles output")
    assert part != whole
    tab.keys("#panel-cycles canvas", "0")
    assert tab.texts("#panel-cycles output") == [whole]
    tab.click("#tab-lds")
    tab.keys("#panel-lds canvas", "\ue014")
    assert tab.texts("#panel-lds [role=status]")[0].startswith("byte 0, bank 0")
    tab.click("#tab-elements")
    tab.keys("#panel-elements canvas", "\ue014")
    assert "lane 1, register 0" in tab.texts("#panel-elements [role=status]")[0]
    assert tab.complaints() == []


@needs_browser
def test_light_and_dark(made, tab):
    back = "return getComputedStyle(document.body).backgroundColor"
    _, page, _ = made(GEMM[0])
    found = []
    for scheme in ("light", "dark"):
        tab.emulate(prefers_color_scheme=scheme)
        tab.open(page.as_uri())
        found.append(tab.run(back))
        tab.click("header button")
        found.append(tab.run(back))
    light, dark = found[0], found[2]
    assert light != dark
    assert found == [light, dark, dark, light]


def recorded(data, folder):
    """A trace in the documented form with the instructions of the emulator's."""
    timeline = data["documents"]["cycles"]["timeline"]
    rows = [
        [made["text"], 0, at, made["source"] or "", 1, made["pc"], 1, 0, 0, 0]
        for at, made in enumerate(timeline["instructions"])
    ]
    events = [event for event in timeline["events"] if event[0] == 0]
    counts = [(int(e[2]), int(e[3] - e[2]), int(e[4]), e[1]) for e in events]
    wave = [[begin, 0, stall, stall + long, at] for begin, long, stall, at in counts]
    header = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
    at = folder / "ui_output_agent_1_dispatch_1"
    at.mkdir()
    (at / "code.json").write_text(json.dumps({"code": rows, "header": header}))
    document = {"wave": {"instructions": wave}}
    (at / "se0_sm0_sl0_wv0.json").write_text(json.dumps(document))
    return at


@pytest.fixture(scope="module")
def shown(made, tmp_path_factory):
    """The page of a trace that was recorded."""
    folder = tmp_path_factory.mktemp("traces")
    recorded(data_of(made(GEMM[0])[1]), folder)
    page = folder / "gemm.html"
    told = ["--target", "gfx942", "--read", folder, "-o", page]
    assert app.run_command(["trace", *GEMM[0], *map(str, told)]) == 0
    return page


def test_a_recorded_trace_is_found_in_the_lines_of_the_author(made, shown):
    estimated, data = data_of(made(GEMM[0])[1]), data_of(shown)
    assert data["executed"] == estimated["executed"] != []
    timeline = data["documents"]["cycles"]["timeline"]
    assert timeline["recorded"] == "ui_output_agent_1_dispatch_1"
    assert [row["simd"] for row in timeline["waves"]] == [0]
    place = line_of(data, GEMM[1])
    lines = [row["place"] for row in data["code"]["lines"]]
    here = {data["executed"][at] for at, each in enumerate(lines) if each == place}
    assert "mfma" in {timeline["instructions"][at]["unit"] for at in here - {-1}}


def test_the_input_for_a_trace_names_the_symbol_of_the_code(tmp_path, capsys):
    path = tmp_path / "in.json"
    told = [*GEMM[0], "--target", "gfx942", "-o", str(path)]
    assert app.run_command(["trace", *told, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == [str(path)]
    (job,) = json.loads(path.read_text())["jobs"]
    assert app.run_command(["compile", *told[:-2], "--emit", "asm"]) == 0
    symbol = job["kernel_include_regex"].strip("^$")
    assert f"{symbol}:" in capsys.readouterr().out.splitlines()[:40]


@pytest.mark.parametrize(("target", "simds"), [("gfx950", "0xF"), ("gfx1100", "0")])
def test_simds_are_a_mask_or_a_number(target, simds, tmp_path):
    """ROCprofiler-SDK, "Using thread trace": a mask on gfx9, an ID on Navi."""
    path = tmp_path / "in.json"
    assert app.run_command(["trace", "copy", "--target", target, "-o", str(path)]) == 0
    (job,) = json.loads(path.read_text())["jobs"]
    assert job["att_simd_select"] == simds


def test_nvidias_tool_is_told_the_launch_and_no_file_is_written(tmp_path, capsys):
    path = tmp_path / "my report.ncu-rep"
    told = ["trace", "copy", "--target", "sm_90a", "-o", str(path), "--launch", "3"]
    assert app.run_command([*told, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["written"] == []
    assert not path.exists()
    records, shows = map(shlex.split, found["commands"])
    at = records.index("wave")
    assert records[at:] == [
        *("wave", "run", "copy", "--target=sm_90a", "--device=cuda"),
        "--option=debug_lines=true",
    ]
    asked = dict(zip(records[1:at:2], records[2:at:2], strict=True))
    assert asked == {
        "--set": "full",
        "--import-source": "yes",
        "--kernel-name": "regex:^copy$",
        "--launch-skip": "2",
        "--launch-count": "1",
        "-o": str(path.with_suffix("")),
    }
    assert shows == ["ncu-ui", str(path)]


def test_what_no_backend_makes_code_for_is_not_traced(capsys):
    assert app.run_command(["trace", "copy", "--target", "generic"]) == 2
    assert "WV0719" in capsys.readouterr().err


@needs_browser
def test_a_recorded_trace_is_drawn_and_linked(shown, tab):
    tab.open(shown.as_uri())
    line = select(tab, shown, GEMM[1])
    tab.click("#tab-cycles")
    tab.until(PAINTED)
    said = "".join(tab.texts("#panel-cycles"))
    assert "As recorded on a GPU: ui_output_agent_1_dispatch_1." in said
    assert "emulator" not in said
    assert any(f":{line}" in row for row in tab.texts("#panel-cycles tr.hit"))
    assert tab.complaints() == []
