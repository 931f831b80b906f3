// Cycles: by line, and each wave over time.

views.push({
  id: "cycles", title: "Cycles", document: "cycles",
  available: () => timeline !== null,
  nothing: "No emulator of this machine counts cycles.",
  hits: () => timeline.events.filter((event) => isSelected(instructionLines[event[1]])).length,
  draw(root) {
    const bars = timeline.events.map(([wave, at, start, end, stall, reason]) => {
      const made = timeline.instructions[at];
      const [unit, fill] = UNITS[made.unit] ?? [made.unit, "--c8"];
      return {
        row: wave, start, end, from: start - stall, label: made.text.split("(")[0], place: instructionPlaces[at], variable: fill,
        tip: () => [made.text, `${unit}, cycles ${number(start, 1)} to ${number(end, 1)} (${number(end - start, 1)})`,
          stall ? `waited ${number(stall, 1)} cycles for ${REASONS[timeline.reasons[reason]] ?? UNITS[timeline.reasons[reason]]?.[0] ?? timeline.reasons[reason]}` : "did not wait", instructionPlaces[at] ? placeName(instructionPlaces[at]) : "no line"].join("\n"),
      };
    });
    const paint = () => { for (const bar of bars) bar.fill = colour(bar.variable); };
    paint();
    redraws.push(paint);
    const rows = timeline.waves.map((wave) => wave.title ?? `wave ${wave.wave} · group ${wave.group} · SIMD ${wave.simd}`);
    const used = [...new Set(timeline.instructions.map((row) => row.unit))].filter((unit) => UNITS[unit]);
    const key = el("div");
    const drawKey = () => key.replaceChildren(legend([...used.map((unit) => [UNITS[unit][0], colour(UNITS[unit][1])])]));
    drawKey();
    redraws.push(drawKey);
    const chart = timeChart({ rows, bars, length: timeline.cycles, ghz: timeline.clock_ghz, name: "Waves of one compute unit" });
    root.append(
      el("h2", {}, "Waves of one compute unit"),
      el("p", { class: "dim" }, (timeline.recorded ? `As recorded on a GPU: ${timeline.recorded}. What an instruction waited for is its own unit, or what a wait names. `
        : "By the model of the emulator: as many workgroups as fit on a compute unit, from launch to end, even where a launch has fewer for each. ") + "A bar is an " +
        "instruction from its start until its unit is free; the thin line before it is the time that it waited." +
        (timeline.turns_left_out ? ` Of the loop's ${timeline.turns_left_out} turns more, none is drawn.` : "") +
        (timeline.waves_recorded > timeline.waves.length ? ` Waves ${number(timeline.waves_shown[0])} to ${number(timeline.waves_shown[1])} of ${number(timeline.waves_recorded)} are shown, and sums by line are of these: --waves chooses.` : "") +
        (timeline.events_left_out ? ` ${number(timeline.events_left_out)} later instructions are left out.` : "")),
      chart.bar, chart.plot, key,
      el("h2", {}, "Cycles by line"), lineTable());
    this.shown = chart.draw;
  },
});

const instructionLines = instructionPlaces.map((place) => (place ? [...linesOf(place).values()] : []));

function lineTable() {
  const costs = [...lineCosts.values()].sort((one, two) => two.share - one.share);
  const rows = costs.map((cost) => {
    const stack = el("div", { class: "stack", role: "img", "aria-label": `${percent(cost.share)}` });
    for (const [cycles, fill] of [[cost.work, "var(--c1)"], [cost.wait, "var(--c4)"]]) {
      const part = el("i");
      part.style.width = `${(100 * cost.share * cycles) / (cost.work + cost.wait || 1)}%`;
      part.style.background = fill;
      stack.append(part);
    }
    const text = cost.place ? view.sources[cost.place[0]].lines[cost.place[1] - 1]?.trim() ?? "" : "(no line)";
    return {
      place: cost.place,
      cells: [cost.place ? placeName(cost.place) : "?", el("code", { class: "cut", title: text }, text), number(cost.executed), number(cost.work), number(cost.wait),
        percent(cost.share), stack, el("span", { class: "cut wider", title: reasonText(cost) }, reasonText(cost))],
    };
  });
  const made = tableOf(["line", "source", "executed", "at work", "waiting", "share", "", "waits for"], rows, [2, 3, 4, 5]);
  return el("div", {}, el("p", { class: "dim" }, "Cycles summed over all waves of the picture above. A wave is at work on an instruction until it can issue the next."), legend([["at work", "var(--c1)"], ["waiting", "var(--c4)"]]), made);
}
