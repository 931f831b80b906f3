// The schedules of pipelined loops: resources over the cycles of an interval.

const STAGES = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"];

views.push({
  id: "schedule", title: "Schedule", document: "schedule",
  available: () => (view.documents.schedule?.loops ?? []).length + (view.documents.schedule?.clusters ?? []).length > 0,
  hits: () => view.documents.schedule.loops.flatMap((loop) => loop.chart?.bars ?? []).filter((bar) => linkedTo(bar.source)).length,
  nothing: "No loop of this kernel is pipelined or reordered.",
  draw(root) {
    const { loops, clusters } = view.documents.schedule;
    const draws = [];
    for (const loop of loops) {
      root.append(el("h2", {}, `Loop over ${loop.loop}`));
      if (!loop.chart) { root.append(el("p", {}, loop.reason || "It keeps its order.")); continue; }
      draws.push(drawLoop(root, loop));
    }
    if (clusters.length) {
      root.append(el("h2", {}, "Clusters of waves that alternate"), tableOf(["loop", "cluster", "operations", "priority", "waves"],
        clusters.map((row) => ({ cells: [row.loop, row.number, row.ops.map(([kind, count]) => `${count} ${kind}`).join(", "), row.priority,
          row.staggered ? "halves alternate" : "all together"] })), [1, 3]));
    }
    this.shown = () => draws.forEach((draw) => draw());
  },
});

function drawLoop(root, loop) {
  const { chart } = loop;
  const rows = [];
  const first = {};
  for (const resource of chart.resources) {
    first[resource.name] = rows.length;
    for (let lane = 0; lane < resource.lanes; lane += 1) rows.push(lane ? "" : `${resource.name} (${resource.units})`);
  }
  const bars = chart.bars.map((bar) => ({
    row: first[bar.resource] + bar.lane, start: bar.start, end: Math.min(bar.start + bar.cycles, chart.interval), label: bar.task, stage: bar.stage,
    place: placeOf(bar.source),
    tip: () => `${bar.task}: ${bar.kind}, stage ${bar.stage}\n${bar.resource}, cycles ${bar.start} to ${bar.start + bar.cycles}` +
      (bar.source ? `\n${placeName(placeOf(bar.source))}` : ""),
  }));
  const paint = () => { for (const bar of bars) bar.fill = colour(STAGES[bar.stage % STAGES.length]); };
  paint();
  redraws.push(paint);
  const drawn = timeChart({ rows, bars, length: chart.interval, ghz: null, name: `Schedule of loop ${loop.loop}`, tall: 26 });
  const key = el("div");
  const drawKey = () => key.replaceChildren(legend([...Array(chart.stages).keys()].map((stage) =>
    [`stage ${stage}: ${stage ? `iteration i−${stage}` : "iteration i, begun here"}`, colour(STAGES[stage % STAGES.length])])));
  drawKey();
  redraws.push(drawKey);
  const room = loop.room === null ? "" : ` of ${loop.room}`;
  root.append(
    el("p", {}, `An iteration begins every ${chart.interval} cycles and passes ${chart.stages} stages; ${loop.registers}${room} registers of a lane are alive at most.`),
    el("p", { class: "dim" }, "One interval: a bar is a task on the unit that it occupies, by the latencies of the target."),
    drawn.bar, drawn.plot, key);
  root.append(el("details", {}, el("summary", {}, `${chart.bars.length} tasks as a table`), tableOf(
    ["task", "operation", "unit", "from cycle", "cycles", "stage", "line"],
    [...chart.bars].sort((one, two) => one.start - two.start).map((bar) => ({ place: placeOf(bar.source), cells: [bar.task, bar.kind, bar.resource, bar.start,
      bar.cycles, bar.stage, bar.source ? placeName(placeOf(bar.source)) : ""] })), [3, 4, 5])));
  if (loop.passed.length) root.append(el("p", { class: "dim" }, loop.passed.join("; ")));
  return drawn.draw;
}
