"""The cache of compiled kernels under attack: processes, kills, damage, forgeries.

Whatever is done to it, a load gives what was compiled, or nothing. The short forms run
always; the long ones with ``-m fuzz``.
"""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from wave_core.compile import Config, Session
from wave_core.compile.cache import DiskCache, pack
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_runtime import Artifact, Manifest

KEY = hashlib.sha256(b"kernel").hexdigest()
FILES = {"code.hsaco": bytes(range(256)) * 12_000, "manifest.json": b"{}"}


def python(program, *arguments):
    """A process that runs a program; its output is text."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process):
    """What a process printed; it must not have failed."""
    out, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors[-2000:]
    return out


def compiled(folder):
    """The copy kernel through the cache in ``folder``, as a new session."""
    session = Session(config=Config(cache_dir=folder))
    case = make_case(session.plugins.load_kernel("copy"), "copy", {}, {}, "gfx942")
    return emit(case.options, case.kernel, "hsaco", session)


COMPILER = """
import hashlib, json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_cache import compiled
found = compiled(Path(sys.argv[1]))
digests = {n: hashlib.sha256(d).hexdigest() for n, d in found.files.items()}
print(json.dumps([found.cached, found.key, digests], sort_keys=True))
"""


def compile_at_once(folder, count):
    """How many of ``count`` processes compiled, and the results."""
    here = Path(__file__).parent
    processes = [python(COMPILER, folder, here) for _ in range(count)]
    rows = [json.loads(output(process)) for process in processes]
    return sum(not row[0] for row in rows), [row[1:] for row in rows]


@pytest.mark.slow
def test_two_processes_on_one_key(tmp_path):
    made, results = compile_at_once(tmp_path / "cache", 2)
    assert made == 1
    assert results == [results[0]] * 2


@pytest.mark.fuzz
@pytest.mark.timeout(1800)
def test_64_processes_on_one_key(tmp_path):
    made, results = compile_at_once(tmp_path / "cache", 64)
    assert made == 1
    assert results == [results[0]] * 64


WRITER = """
import sys
from pathlib import Path
from wave_core.compile.cache import DiskCache
cache, key = DiskCache(Path(sys.argv[1])), sys.argv[2]
files = {"code.hsaco": bytes(range(256)) * 12_000, "manifest.json": b"{}"}
print("ready", flush=True)
for _ in range(int(sys.argv[3])):
    found = cache.get(key)
    assert found is None or found == files, "wrong load"
    with cache.building(key):
        cache.put(key, files)
    cache.prune(1 << 40)
"""


@pytest.mark.parametrize(
    ("count", "times"), [(6, 5), pytest.param(64, 40, marks=pytest.mark.fuzz)]
)
@pytest.mark.timeout(600)
def test_writers_on_one_key(tmp_path, count, times):
    processes = [python(WRITER, tmp_path / "c", KEY, times) for _ in range(count)]
    assert [output(process) for process in processes] == ["ready\n"] * count
    assert DiskCache(tmp_path / "c").get(KEY) == FILES


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.fuzz)])
@pytest.mark.timeout(900)
def test_killed_at_any_moment(tmp_path, kills):
    cache, source = DiskCache(tmp_path / "c"), np.random.default_rng(7)
    seen = set()
    for _ in range(kills):
        process = python(WRITER, cache.folder, KEY, 1_000_000)
        assert process.stdout.readline() == "ready\n"
        time.sleep(source.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        found = cache.get(KEY)
        assert found is None or found == FILES
        seen.add(found is None)
    # Whoever comes next is not held up by locks of the dead, and finds no litter.
    started = time.perf_counter()
    with cache.building(KEY):
        cache.put(KEY, FILES)
    assert time.perf_counter() - started < 5
    assert cache.get(KEY) == FILES
    cache.clear()
    assert not [
        p for p in cache.folder.rglob("*") if p.is_file() and p.suffix != ".lock"
    ]


@pytest.fixture(scope="module")
def entry(tmp_path_factory):
    """A real entry: its cache, key, file and bytes."""
    cache = DiskCache(tmp_path_factory.mktemp("entry") / "cache")
    key = compiled(cache.folder).key
    (path,) = cache.entries()
    return cache, key, path, path.read_bytes()


def usable(files):
    """Whether files are an artifact that may be launched."""
    Artifact(Manifest.from_json(files["manifest.json"]), files["code.hsaco"])


@pytest.mark.parametrize(
    ("step", "flips"),
    [(41, (0xFF,)), pytest.param(1, (0x01, 0x80, 0xFF), marks=pytest.mark.fuzz)],
)
@pytest.mark.timeout(900)
def test_flipped_bytes_of_an_entry(entry, step, flips):
    cache, key, path, good = entry
    for place in range(0, len(good), step):
        for flip in flips:
            data = bytearray(good)
            data[place] ^= flip
            path.write_bytes(data)
            assert cache.get(key) is None, place
            assert not path.exists()
    path.write_bytes(good)
    usable(cache.get(key))


def test_a_damaged_entry_is_compiled_anew(entry):
    cache, key, path, good = entry
    path.write_bytes(good[:-1])
    again = compiled(cache.folder)
    assert (again.cached, again.key) == (False, key)
    assert path.read_bytes() == good
    assert compiled(cache.folder).cached


def sealed(key, header, body=b""):
    """An entry whose digest is right, whatever it says."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    data = pack(key, {})
    rest = len(text).to_bytes(4, "little") + text + body
    return data[:8] + hashlib.sha256(rest).digest() + rest


PROGRAM = b"import os; os.system('touch executed')"


def forged(key, source):
    """Bytes of an entry that an attacker might leave, and a good seal."""
    names = ["../evil.py", "/tmp/evil", "a/b", "..", "", "a\\b", "\0", "code.hsaco"]
    sizes = [0, 1, len(PROGRAM), -1, 1 << 40, 1 << 70, "9", None, [1]]
    rows = [
        [names[source.integers(len(names))], sizes[source.integers(len(sizes))]]
        for _ in range(source.integers(4))
    ]
    header = {"key": key, "files": rows, "hook": PROGRAM.decode()}
    if source.random() < 0.2:
        return sealed(key, source.bytes(source.integers(200)), PROGRAM)
    return sealed(key, header, PROGRAM * source.integers(3))


@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.fuzz)])
@pytest.mark.timeout(600)
def test_forged_entries(tmp_path, monkeypatch, count):
    monkeypatch.chdir(tmp_path)
    cache, source = DiskCache(tmp_path / "c"), np.random.default_rng(11)
    cache.put(KEY, FILES)
    (path,) = cache.entries()
    for _ in range(count):
        path.write_bytes(forged(KEY, source))
        found = cache.get(KEY)
        if found is not None:
            assert set(found) <= {"code.hsaco"}
            cache.export(KEY, tmp_path / "out")
    assert {p.name for p in tmp_path.iterdir()} <= {"c", "out"}


AUDITED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import numpy as np
from test_cache import KEY, FILES, DiskCache, forged, usable
from wave_runtime import ArtifactError
cache, source = DiskCache(Path(sys.argv[1])), np.random.default_rng(5)
cache.put(KEY, FILES)
cache.get(KEY)
def load(files):
    try:
        usable(files)
    except ArtifactError:
        pass
# The library that reads manifests looks at its own types once.
load({"manifest.json": b'{"name": "x"}'})
bad = ("exec", "compile", "import", "os.", "subprocess.", "pickle.", "ctypes.")
fine = {"os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "os.utime"}
seen = []
(path,) = cache.entries()
forgeries = [forged(KEY, source) for _ in range(200)]
def hook(name, arguments):
    if name.startswith(bad) and name not in fine:
        seen.append((name, str(arguments)[:80]))
sys.addaudithook(hook)
for data in forgeries:
    path.write_bytes(data)
    found = cache.get(KEY)
    if found is not None:
        load(found | {"manifest.json": b'{"name": "x"}'})
found = list(seen)
print(found)
"""


def test_nothing_of_an_entry_is_executed(tmp_path):
    here = Path(__file__).parent
    assert output(python(AUDITED, tmp_path / "c", here)) == "[]\n"


def test_a_session_answers_without_tracing(tmp_path, monkeypatch):
    session = Session(config=Config(cache_dir=tmp_path / "cache"))
    case = make_case(session.plugins.load_kernel("copy"), "copy", {}, {}, "gfx942")
    first = emit(case.options, case.kernel, "asm", session)
    monkeypatch.setattr(type(case.kernel), "trace", None)
    again = emit(case.options, case.kernel, "asm", session)
    assert (first.cached, again.cached) == (False, True)
    assert (again.files, again.key) == (first.files, first.key)
