"""Command lines with mistakes: a message, an exit status, no traceback."""

from __future__ import annotations

import pytest

from wave_core.cli.app import run_command

#: A command line, and what its message says.
WRONG = (
    ("run nope", "WV0801"),
    ("run gemm --shape M=-1", "a size is an integer from 0"),
    ("run gemm --shape M=abc", "a size is an integer from 0"),
    ("run gemm --shape M", "takes NAME=VALUE"),
    ("run gemm --shape Q=5", "it has: `M`, `N`, `K`"),
    ("run copy --shape M=99999999999999999999999", "give smaller sizes"),
    ("run copy --shape M=2147483647,N=2147483647", "give smaller sizes"),
    ("run gemm --set X=5", "it has: `BLOCK_M`"),
    ("run gemm --set BLOCK_M=abc", "it takes an integer"),
    ("run gemm --target nope", "WV0701"),
    ("run gemm --device nope", "WV0719"),
    ("run gemm --preset nope", "WV0801"),
    ("run gemm --seed -1", "--seed"),
    ("run gemm --passes a{", "WV0802"),
    ("run gemm --set-pass schedule-loops.unroll=-1", "it takes int from 1"),
    ("run gemm --print-ir-after nope", "WV0801"),
    ("run FOLDER", "WV0801"),
    ("run FOLDER/absent.py:case", "FILE.py:NAME"),
    ("run FOLDER/syntax.py:case", "/syntax.py:2"),
    ("run FOLDER/raises.py:case", "/raises.py:3"),
    ("run FOLDER/binary.py:case", "WV0826"),
    ("run FOLDER/plain.py:case", "WV0826"),
    ("run FOLDER/plain.py:other", "it has: case"),
    ("inspect copy --what nope", "WV0801"),
    ("inspect copy --phase nope", "WV0801"),
    ("view copy --shape M=64,N=64 -o FOLDER", "-o"),
    ("view copy --shape M=64,N=64 --trace FOLDER/x.json", "no cycles"),
    ("compile gemm --target gfx942 --emit asm --override-mlir FOLDER", "directory"),
    ("compile gemm --target gfx942 --emit asm --override-mlir FOLDER/bad.mlir", "WV06"),
    ("compile gemm --target gfx942 --emit nope", "asm"),
    ("compile gemm --target generic --emit asm", "WV0719"),
    ("run gemm --set BLOCK_M=64,BLOCK_M=128", "both 64 and 128 are given"),
    ("explain-schedule gemm --target gfx942 --set BLOCK_M=0", "WV0316"),
    ("explain-schedule gemm --target gfx942 --set WAVES_M=3", "WV0308"),
    ("explain-schedule gemm --target gfx942 --option unroll_factor=0", "WV0804"),
    ("pipeline --preset nope", "error[WV0801]: there is no preset `nope`\n  = help:"),
    ("explain nope", "`wave explain` lists them all"),
)

FILES = {
    "syntax.py": "\nx = (\n",
    "raises.py": "\n\nraise ValueError(1)\n",
    "binary.py": "\0",
    "plain.py": "case = 5\n",
    "bad.mlir": "not { valid",
}


@pytest.mark.parametrize(("line", "message"), WRONG)
def test_a_wrong_command(line, message, tmp_path, capsys):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    code = run_command(line.replace("FOLDER", str(tmp_path)).split())
    said = capsys.readouterr().err
    assert code in {1, 2}
    assert message in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("/tmp/" + "x" * 300, "File name too long"),
        ("FOLDER/plain/below", "plain` is a file"),
        ("FOLDER/plain", "plain` is a file"),
        ("~nobody-of-that-name/x", "home"),
        ("relative", "an absolute path"),
    ],
)
def test_a_folder_of_the_cache(value, message, tmp_path, capsys, monkeypatch):
    (tmp_path / "plain").write_text("", encoding="utf-8")
    folder = value.replace("FOLDER", str(tmp_path))
    monkeypatch.setenv("WAVE_CACHE_DIR", folder)
    assert run_command(["cache", "info"]) == 2
    said = capsys.readouterr().err
    assert "error[WV0825]: environment variable WAVE_CACHE_DIR" in said
    assert message in said
