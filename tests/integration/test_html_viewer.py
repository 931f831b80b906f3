"""The page of logs: all of the data, no network, and nothing of a label is run."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

import wave_core.lang as tkw
from wave_core.compile import wave_compile
from wave_core.diagnostics import LaunchError

M, N = tkw.sym.M, tkw.sym.N
EVIL = '</script><img src=x onerror="alert(1)"> & \u2028 "quoted" \\'
KINDS = {"f4": "<f4", "f8": "<f8", "i4": "<i4", "i8": "<i8", "u4": "<u4", "b1": "?"}


class Elements(HTMLParser):
    """What the browser's parser makes of the page: elements, and the data."""

    def __init__(self, page):
        super().__init__()
        self.found, self.data = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.found and self.found[-1][1].get("id") == "data":
            self.data += data

    def handle_endtag(self, tag):
        self.found.append((f"/{tag}", {}))


def log_of(value, logged=None, dims=()):
    logged = np.ones(value.shape, bool) if logged is None else logged
    names = dims or tuple("ABCD"[: value.ndim])
    return {
        "value": value,
        "logged": logged,
        "symbolic_shape": names,
        "iteration_dimensions": (),
    }


def logs():
    rng = np.random.default_rng(2)
    floats = rng.standard_normal((3, 4, 5)).astype("f4")
    floats[0, 0, :3] = [np.nan, np.inf, -0.0]
    return {
        EVIL: log_of(floats, floats > 0, dims=(EVIL, "M", "N")),
        "half": log_of(floats.astype("f2")),
        "bf16": log_of(torch.from_numpy(floats).bfloat16()),
        "f64": log_of(floats.astype("f8")),
        "i64": log_of(rng.integers(-(2**62), 2**62, (2, 3))),
        "u32": log_of(np.array([2**32 - 1], "u4")),
        "bool": log_of(floats[0] > 0),
        "scalar": log_of(np.float32(2.5)),
        "empty": log_of(np.empty((0, 3), "f4")),
    }


def written(given, tmp_path):
    path = tmp_path / "view.html"
    tkw.html_viewer(given, path)
    return path.read_text("utf-8")


def test_the_page_holds_all_values(tmp_path):
    given = logs()
    rows = json.loads(Elements(written(given, tmp_path)).data)
    assert [row["label"] for row in rows] == list(given)
    for row, log in zip(rows, given.values(), strict=True):
        raw = base64.b64decode(row["values"])
        value = np.frombuffer(raw, KINDS[row["kind"]]).reshape(row["shape"])
        want = log["value"]
        want = want.float().numpy() if isinstance(want, torch.Tensor) else want
        np.testing.assert_array_equal(value, want)
        mask = np.frombuffer(base64.b64decode(row["logged"]), "?")
        np.testing.assert_array_equal(mask.reshape(row["shape"]), log["logged"])
        assert row["dims"] == list(log["symbolic_shape"])


def test_labels_are_text_and_nothing_is_loaded(tmp_path):
    plain, evil = (
        Elements(written(given, tmp_path)).found
        for given in ({"x": log_of(np.ones(2, "f4"))}, logs())
    )
    assert evil == plain
    page = written(logs(), tmp_path)
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|src=\"|href|innerHTML|eval|import\(|fetch", page)


def test_a_handler_writes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @tkw.wave([tkw.HardwareConstraint(threads_per_wave=64)])
    def copy(a: tkw.Memory[M, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]):
        x = tkw.read(a)
        for name in ("one", "two"):
            tkw.debug_log(x, name, printer=None, handler=tkw.html_viewer)
        tkw.write(x + 1.0, a)

    options = tkw.WaveCompileOptions(subs={M: 3}, device="sim")
    wave_compile(options, copy)(np.arange(3, dtype="f4"))
    assert [each.name for each in tmp_path.iterdir()] == ["debug-view.html"]
    rows = json.loads(Elements((tmp_path / "debug-view.html").read_text("utf-8")).data)
    assert [row["label"] for row in rows] == ["one", "two"]


PAGE = """
const fs = require("fs");
const page = fs.readFileSync(process.argv[2], "utf8");
const [, data] = page.match(/id="data">(.*?)<\\/script>/s);
const [, code] = page.match(/<script>(.*?)<\\/script>/s);
const element = (name) => ({
  name, style: {}, children: [], textContent: "",
  append(...more) { this.children.push(...more); },
  replaceChildren(...all) { this.children = all; },
});
const known = { data: { textContent: data } };
globalThis.document = {
  getElementById: (id) => known[id] ??= element(id),
  createElement: element,
};
const cells = () => known.cells.children.slice(1).map(
  (row) => row.children.slice(1).map((cell) => cell.textContent));
eval(code + ";globalThis.choose = choose;");
const seen = [];
for (let log = 0; log < known.log.children.length; log++) {
  choose(log);
  const first = cells();
  for (const slider of known.sliders.children) {
    const input = slider.children[1];
    input.value = input.max;
    input.oninput();
  }
  seen.push({ label: known.log.children[log].textContent, first, last: cells(),
    summary: known.summary.textContent });
}
known.down.value = "0"; choose(0); known.down.onchange();
seen.push({ turned: cells() });
console.log(JSON.stringify(seen));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="runs the page's script")
def test_the_script_shows_what_was_logged(tmp_path):
    """Tables of the two last dims, at both ends of the sliders; then two others."""
    given = logs()
    written(given, tmp_path)
    (tmp_path / "run.cjs").write_text(PAGE)
    command = ["node", "run.cjs", "view.html"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    *shown, turned = json.loads(done.stdout)
    assert [each["label"] for each in shown] == list(given)
    evil = given[EVIL]
    for position, key in ((0, "first"), (-1, "last")):
        values, there = evil["value"][position], evil["logged"][position]
        for cells, row, mask in zip(shown[0][key], values, there, strict=True):
            for text, value, is_there in zip(cells, row, mask, strict=True):
                assert (text != "") == is_there
                assert not text or float(text) == pytest.approx(value, rel=1e-5)
    assert shown[4]["first"] == [[str(x) for x in row] for row in given["i64"]["value"]]
    assert shown[6]["first"][1][0] in {"true", "false"}
    assert shown[7]["first"] == [["2.5"]]
    assert shown[8]["first"] == []
    assert "NaN or infinite" in shown[1]["summary"]
    assert len(turned["turned"]) == 3
    assert len(turned["turned"][0]) == 5


@pytest.mark.parametrize("logs", [[], {"x": 3}, {"x": {"value": np.zeros(3)}}])
def test_what_is_no_dictionary_of_logs(logs, tmp_path):
    with pytest.raises(LaunchError) as caught:
        tkw.html_viewer(logs, tmp_path / "page.html")
    title, _, line, marks, advice = str(caught.value).splitlines()
    assert title == "error[WV0722]: `html_viewer` got no logs of a launch"
    assert line.partition("|")[2].strip() == (
        'tkw.html_viewer(logs, tmp_path / "page.html")'
    )
    assert marks.partition("|")[2].strip() == "^" * 45
    assert advice.strip() == (
        "= help: give what was filled: `kernel(a, b, debug_logs=logs)`"
    )
    assert not (tmp_path / "page.html").exists()
