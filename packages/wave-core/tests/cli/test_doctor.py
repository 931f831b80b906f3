"""`wave doctor` and what plugins have it look for."""

from __future__ import annotations

import sys


def rows_of(done):
    return {row["what"]: row for row in done.json["checks"]}


def test_what_plugins_look_for_is_listed(wave):
    done = wave("doctor", "--json")
    row = {"what": "toy-tool", "state": "missing", "found": "bring one"}
    assert rows_of(done)["toy-tool"] == row
    assert done.code == 0


def test_it_goes_on_when_a_check_of_a_plugin_fails(wave, monkeypatch):
    monkeypatch.setattr(sys.modules["toy_case"], "fault", lambda: 1 / 0)
    done = wave("doctor", "--json")
    row = rows_of(done)["toy-fault"]
    assert row["state"] == "broken"
    assert row["found"] == "ZeroDivisionError: division by zero"
    assert (done.code, done.json["ok"]) == (1, False)


def test_gpus_are_described_one_by_one(wave, monkeypatch):
    runtime = sys.modules["wave_runtime"]

    class Gpus:
        architecture = "toy2"
        cards = staticmethod(lambda: ("toy1", "toy2"))

    monkeypatch.setattr(runtime, "device_names", lambda: ("toy",))
    monkeypatch.setattr(runtime, "open_device", lambda name: Gpus())
    row = rows_of(wave("doctor", "--json"))["device: toy"]
    assert row["found"] == "toy:0 is toy1, toy:1 is toy2"
