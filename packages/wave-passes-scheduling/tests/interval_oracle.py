"""The smallest interval of a loop, by an exact solver: what schedules are held to."""

from __future__ import annotations

from ortools.sat.python import cp_model


def feasible(problem, interval, seconds=10.0):
    """Whether a schedule with this interval exists; ``None`` if time runs out."""
    model = cp_model.CpModel()
    span = 2 * interval + sum(max(0, d.latency) for d in problem.dependences)
    starts, places = [], []
    for index in range(problem.size):
        start = model.new_int_var(0, span, f"start{index}")
        place = model.new_int_var(0, interval - 1, f"place{index}")
        model.add_modulo_equality(place, start, interval)
        starts.append(start)
        places.append(place)
    for row in problem.dependences:
        wait = row.latency - row.distance * interval
        model.add(starts[row.target] - starts[row.source] >= wait)
    for resource in range(len(problem.resources)):
        _limit(model, problem, interval, places, resource)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.UNKNOWN:
        return None
    return status in {cp_model.OPTIMAL, cp_model.FEASIBLE}


def smallest_interval(problem, lower, upper):
    """The smallest feasible interval in ``[lower, upper]``; ``None`` if unknown."""
    for interval in range(lower, upper):
        found = feasible(problem, interval)
        if found is None:
            return None
        if found:
            return interval
    return upper


def _limit(model, problem, interval, places, resource):
    """A resource's units: each use stands there now and one interval later."""
    intervals, units = [], []
    for index, task in enumerate(problem.tasks):
        for use in task.uses:
            if use.resource == resource:
                for lap in (0, interval):
                    first = places[index] + use.offset + lap
                    name = f"use{index}_{lap}"
                    row = model.new_fixed_size_interval_var(first, use.cycles, name)
                    intervals.append(row)
                    units.append(use.units)
    model.add_cumulative(intervals, units, problem.resources[resource].units)
