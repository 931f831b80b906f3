"""A page that shows the logs of a launch, without network or server."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wave_core.diagnostics import capture_location, launch_error


def html_viewer(
    logs: Mapping[str, Mapping[str, Any]], path: str | Path = "debug-view.html"
) -> None:
    """Write a page on which two dims of each log are a table, and the others sliders.

    A handler of `debug_log`, or called with the dictionary of a launch. The page
    holds the data and asks no network for anything.

    Args:
        logs: The logs of a launch, by label.
        path: The file, written as a whole.

    Raises:
        LaunchError: WV0722 for what is not the logs of a launch.
        OSError: where the file cannot be written.
    """
    if not _is_filled(logs):
        raise launch_error(
            "WV0722",
            "`html_viewer` got no logs of a launch",
            at=capture_location(),
            help="give what was filled: `kernel(a, b, debug_logs=logs)`",
        )
    from wave_runtime.artifact import write_whole  # noqa: PLC0415 - as numpy below

    rows = [_row(label, log) for label, log in logs.items()]
    template = Path(__file__).with_name("html_viewer.html").read_text("utf-8")
    page = template.replace("@DATA@", _safe(json.dumps(rows)))
    write_whole(Path(path), page.encode())


_FIELDS = ("value", "logged", "symbolic_shape", "iteration_dimensions")


def _is_filled(logs: Any) -> bool:
    """Whether something is what a launch enters into `debug_logs`."""
    found: Mapping[Any, Any] = logs
    return isinstance(logs, Mapping) and all(
        isinstance(log, Mapping) and all(name in log for name in _FIELDS)
        for log in found.values()
    )


def _safe(text: str) -> str:
    """JSON that ends no element of HTML: these characters stand in strings only."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _row(label: str, log: Mapping[str, Any]) -> dict[str, object]:
    import numpy as np  # noqa: PLC0415 - the language does not load it

    value, logged = _host(log["value"]), _host(log["logged"])
    kind, dtype = value.dtype.kind, str(value.dtype)
    if kind not in "fiub" or (value.dtype.itemsize < 4 and kind != "b"):
        value = value.astype(np.float32)
    stored = value.dtype.newbyteorder("<")
    iterations = ", ".join(log["iteration_dimensions"])
    return {
        "label": label,
        "dims": [str(dim) for dim in log["symbolic_shape"]],
        "shape": list(value.shape),
        "type": dtype,
        "note": f"; iterations: {iterations}" if iterations else "",
        "kind": f"{value.dtype.kind}{value.dtype.itemsize}",
        "values": b64encode(value.astype(stored).tobytes()).decode(),
        "logged": b64encode(logged.astype(np.uint8).tobytes()).decode(),
    }


def _host(value: Any) -> Any:
    """The array in memory of the CPU, as numpy has it; bf16 of torch as f32."""
    import numpy as np  # noqa: PLC0415 - the language does not load it

    if hasattr(value, "cpu"):
        value = value.cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    return np.asarray(value)
