"""The command line with the installed packages: compiling, inspecting, the cache."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from wave_core.cli.app import run_command
from wave_runtime import LoadedKernel, load_artifact, open_device

COPY = ("copy", "--target", "gfx942")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The cache of this module."""
    return tmp_path_factory.mktemp("cache") / "wave"


@pytest.fixture
def wave(folder, monkeypatch, capsys):
    """Runs a command: exit code, stdout, stderr, the JSON at the end of stdout."""
    monkeypatch.setenv("WAVE_CACHE_DIR", str(folder))
    monkeypatch.delenv("WAVE_CACHE", raising=False)

    def call(*arguments):
        code = run_command([str(each) for each in arguments])
        out, err = capsys.readouterr()
        lines = out.strip().splitlines()
        found = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else None
        return SimpleNamespace(code=code, out=out, err=err, json=found)

    return call


def test_an_artifact_can_be_loaded(wave, tmp_path):
    done = wave("compile", *COPY, "-o", tmp_path / "out")
    assert (done.code, done.out) == (0, "")
    assert "code.hsaco" in done.err
    assert "manifest.json" in done.err
    artifact = load_artifact(tmp_path / "out")
    assert artifact.manifest.target == "gfx942"
    assert LoadedKernel(artifact, open_device("null")).manifest.name == "copy"


FORMS = {
    "mlir": "hal.executable",
    "llvm": "define amdgpu_kernel void @copy",
    "asm": "s_endpgm",
    "metrics": '"vgprs"',
}


@pytest.mark.parametrize("form", FORMS)
def test_text_goes_to_stdout(wave, form):
    done = wave("compile", *COPY, "--emit", form)
    assert done.code == 0
    assert FORMS[form] in done.out


def test_the_second_time_it_is_in_the_cache(wave):
    rows = [wave("compile", *COPY, "--emit", "asm", "--json").json for _ in range(2)]
    assert rows[1]["cached"] is True
    assert rows[0]["key"] == rows[1]["key"]
    assert rows[0]["files"] == rows[1]["files"]


def test_a_module_for_iree(wave, tmp_path):
    assert wave("compile", *COPY, "--emit", "vmfb", "-o", tmp_path).code == 0
    assert (tmp_path / "copy.vmfb").stat().st_size > 1000


def test_lines_of_the_kernel(wave, tmp_path):
    wave("compile", *COPY, "-o", tmp_path / "plain")
    done = wave("compile", *COPY, "--debug", "-o", tmp_path / "lines")
    assert done.code == 0
    plain, lines = (tmp_path / n / "code.hsaco" for n in ("plain", "lines"))
    assert b".debug_line" in lines.read_bytes()
    assert b".debug_line" not in plain.read_bytes()


def test_dumps_are_written_for_cached_kernels_too(wave, tmp_path):
    for name in ("one", "two"):
        assert wave("compile", *COPY, "--dump", tmp_path / name, "--json").code == 0
        endings = {path.suffix for path in (tmp_path / name).iterdir()}
        assert {".mlir", ".ll", ".s", ".wave"} <= endings


def test_links_in_the_folder_are_not_followed(wave, tmp_path):
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.write_text("mine")
    out.mkdir()
    (out / "code.hsaco").symlink_to(victim)
    assert wave("compile", *COPY, "-o", out).code == 0
    assert victim.read_text() == "mine"
    assert not (out / "code.hsaco").is_symlink()
    assert {path.name for path in out.iterdir()} == {"code.hsaco", "manifest.json"}


def test_mlir_is_edited_by_hand(wave, tmp_path):
    text = wave("compile", *COPY, "--emit", "mlir").out
    edited = tmp_path / "edited.mlir"
    edited.write_text(text)
    done = wave("compile", *COPY, "--override-mlir", edited, "-o", tmp_path / "out")
    assert done.code == 0
    broken = text.replace("gpu.block_id x", "gpu.block_id q", 1)
    line = next(i for i, x in enumerate(broken.split("\n"), 1) if "block_id q" in x)
    edited.write_text(broken)
    done = wave("compile", *COPY, "--override-mlir", edited, "-o", tmp_path / "out")
    assert done.code == 1
    assert "error[WV0604]" in done.err
    assert f"edited.mlir:{line}:" in done.err.replace("\n", "")
    assert "gpu.block_id q" in done.err


def test_assembly_is_edited_by_hand(wave, tmp_path):
    text = wave("compile", *COPY, "--emit", "asm", "--via", "asm").out
    edited = tmp_path / "edited.s"
    edited.write_text(text)
    given = ("compile", *COPY, "--override-asm", edited, "-o", tmp_path / "out")
    assert wave(*given).code == 0
    broken = text.replace("s_endpgm", "s_endprogram", 1)
    line = next(i for i, x in enumerate(broken.split("\n"), 1) if x == "s_endprogram")
    edited.write_text(broken)
    done = wave(*given)
    assert done.code == 1
    assert "error[WV0604]" in done.err
    assert f"edited.s:{line}:1" in done.err.replace("\n", "")
    assert "s_endprogram" in done.err


FILES = {
    "empty": (b" \n", "there is nothing in it"),
    "latin": (b"s_nop 0\n// \xe9\n", "byte 0xe9 in line 2 is no UTF-8"),
    "folder": (None, "Is a directory"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_text_is_refused(wave, tmp_path, name):
    data, why = FILES[name]
    given = tmp_path / "edited.s"
    if data is None:
        given.mkdir()
    else:
        given.write_bytes(data)
    done = wave("compile", *COPY, "--override-asm", given, "-o", tmp_path / "out")
    assert done.code == 2
    assert why in " ".join(done.err.replace("\n", " ").split())


USAGE = [
    (("compile", *COPY, "--override-asm", "/no/such.s"), "No such file"),
    (
        ("compile", *COPY, "--override-asm", "x.s", "--via", "amdgpu"),
        "--override-asm is for --via asm",
    ),
    (("compile", *COPY), "code.hsaco is binary; say where with -o DIR"),
    (("compile", *COPY, "--emit", "ptx"), "does not emit `ptx`"),
    (("compile", "copy", "--target", "gfx000"), "no target `gfx000`"),
    (("compile", "copy", "--target", "generic"), "no backend makes code"),
    (("compile", *COPY, "-o", "{file}"), "-o"),
    (("compile", *COPY, "-o", "{file}/inside"), "-o"),
    (("compile", *COPY, "--override-mlir", "/no/such.mlir"), "No such file"),
    (("compile", "copy"), "--target"),
    (("cache", "export", "deadbeef", "-o", "x"), "no entry `deadbeef`"),
    (("cache", "prune", "--keep", "-1"), "--keep"),
    (("cache", "burn"), "No such command"),
    (("inspect", "copy", "--what", "asm"), "no backend makes code"),
]


@pytest.mark.parametrize(("arguments", "says"), USAGE)
def test_wrong_usage(wave, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "file"
    file.write_text("mine")
    done = wave(*(str(each).replace("{file}", str(file)) for each in arguments))
    assert done.code == 2
    assert says in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_assembly_is_measured(wave):
    many = ("--shape", "M=4096,N=4096,K=4096")
    done = wave("inspect", "gemm", "--target", "gfx942", "--what", "asm", *many)
    assert done.code == 0
    for title in ("vector registers", "spills", "LDS", "occupancy", "hot loop"):
        assert title in done.out
    assert "MFMA density" in done.out
    found = wave("inspect", *COPY, "--what", "asm", "--json").json
    assert found["hot"] is None
    assert found["resources"]["vgprs"] > 0


@pytest.mark.parametrize("device", ["hip", "iree"])
def test_devices_that_are_not_there(wave, device):
    done = wave("run", *COPY, "--device", device)
    assert done.code == 1
    assert f"error[WV0708]: device `{device}` cannot run `copy`: " in done.err
    assert "needs no GPU" in done.err
    again = wave("run", *COPY, "--device", device, "--json")
    assert (again.code, again.json["error"]) == (1, "WV0708")


def test_the_cache_is_shown_exported_and_emptied(wave, folder, tmp_path):
    key = wave("compile", *COPY, "--emit", "asm", "--json").json["key"]
    found = wave("cache", "info", "--json").json
    assert found["folder"] == str(folder)
    assert (found["writable"], found["used"], key in found["keys"]) == (
        True,
        True,
        True,
    )
    assert str(folder) in wave("cache", "info").out
    assert wave("cache", "export", key, "-o", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "copy.s").stat().st_size > 0
    assert wave("cache", "prune", "--keep", "1000", "--json").json == {"removed": 0}
    count = len(found["keys"])
    assert wave("cache", "clear", "--json").json == {"removed": count}
    assert wave("cache", "info", "--json").json["entries"] == 0


def test_doctor_says_what_it_found(wave, folder):
    done = wave("doctor", "--json")
    rows = {row["what"]: row for row in done.json["checks"]}
    assert rows["iree-base-compiler"]["state"] == "ok"
    assert rows["device: null"] == {
        "what": "device: null",
        "state": "ok",
        "found": "runs any architecture",
    }
    assert rows["device: hip"]["state"] in {"ok", "missing"}
    assert str(folder) in rows["cache"]["found"]
    assert "writable" in rows["cache"]["found"]


def test_doctor_on_a_cache_that_cannot_be_written(wave, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("WAVE_CACHE_DIR", str(tmp_path / "link"))
    rows = {row["what"]: row for row in wave("doctor", "--json").json["checks"]}
    assert rows["cache"]["state"] == "missing"
    assert "nothing is kept" in rows["cache"]["found"]
