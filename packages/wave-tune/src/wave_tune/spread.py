"""Several workers on one study: processes of this machine, or Ray's on others."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_tune.store import Store
from wave_tune.subject import Subject
from wave_tune.tuner import Asked, prepared, work

if TYPE_CHECKING:
    from wave_tune.tuner import Job, Told

RAY = "ray"


def spread(job: Job, workers: str, tell: Told) -> None:
    """Work on a study, alone or with others, until there are enough trials.

    A worker that dies is told; what it was at, another does again.

    Args:
        job: What to measure.
        workers: How many processes of this machine, or ``ray``.
        tell: Told measurements, and what goes wrong.

    Raises:
        UserError: WV0833 where they cannot be spread so, WV0830 for the store.
    """
    if workers == RAY:
        _on_ray(job, tell)
        return
    if not workers.isdecimal() or int(workers) < 1:
        raise user_error(
            "WV0833",
            f"`--workers {workers}` is neither a number from 1 nor `{RAY}`",
            help="`--workers 4` takes four processes of this machine",
        )
    others = [_started(job.asked) for _ in range(int(workers) - 1)]
    try:
        work(job, tell)
        for each in others:
            if each.wait():
                tell(f"a worker ended with status {each.returncode}")
    finally:
        for each in others:
            each.kill()
            each.wait()
    # What a lost worker was at may be left.
    work(job, tell)


def _started(asked: Asked) -> subprocess.Popen[bytes]:
    command = sys.executable, "-m", "wave_tune.spread", as_text(asked)
    return subprocess.Popen(command)  # noqa: S603 - our own program


def as_text(asked: Asked) -> str:
    """What another process is asked, as one line."""
    return json.dumps(asdict(asked))


def of_text(text: str) -> Asked:
    """From what `as_text` wrote."""
    rows: dict[str, Any] = json.loads(text)
    subject = Subject.of_text(json.dumps(rows.pop("subject")))
    return Asked(subject, Store(**rows.pop("store")), **rows)


def join(text: str) -> None:
    """Work on what another process has begun."""
    work(prepared(of_text(text)))


def _on_ray(job: Job, tell: Told) -> None:
    """A worker on every machine of a Ray cluster, for each GPU one or for each CPU.

    Raises:
        UserError: WV0833 without Ray, or where the store is a file of this machine and
            there are others.
    """
    try:
        ray: Any = import_module(RAY)
    except ImportError:
        raise user_error(
            "WV0833",
            "`--workers ray` needs Ray, which is not installed",
            help=(
                "`python -m pip install ray` on each machine",
                "`--workers 4` takes four processes of this machine",
            ),
        ) from None
    ray.init(ignore_reinit_error=True)
    if job.asked.store.path is not None and len(ray.nodes()) > 1:
        raise user_error(
            "WV0833",
            f"`{job.asked.store.shown}` is a file, and there are {len(ray.nodes())}"
            " machines",
            help="name a server that all reach: `--store postgresql://host/wave`",
        )
    gpus = int(ray.cluster_resources().get("GPU", 0))
    takes = {"num_gpus": 1} if gpus else {"num_cpus": 1}
    count = gpus or int(ray.cluster_resources().get("CPU", 1))
    remote: Any = ray.remote(**takes)(join)
    rows = [remote.remote(as_text(job.asked)) for _ in range(count)]
    for row in rows:
        try:
            ray.get(row)
        except ray.exceptions.RayError as error:
            tell(f"a worker was lost: {type(error).__name__}")


if __name__ == "__main__":
    join(sys.argv[1])
