// What the kernel is, in numbers and words, and what went wrong.

views.push({
  id: "summary", title: "Summary",
  available: () => true,
  draw(root) {
    for (const each of view.problems) {
      const note = el("div", { class: `note ${each.severity}` }, el("pre", { class: "mono" }, each.text));
      if (each.place) note.append(el("button", { click: () => select(each.place) }, `show ${placeName(each.place)}`));
      root.append(note);
    }
    if (view.problems.some((each) => each.severity === "error") && view.stages.length)
      root.append(el("p", {}, `The IR is shown up to ${view.stages.at(-1).name}, the last pass that changed it.`));
    if (view.facts.length) root.append(tableOf(["what", "found"], view.facts.map((row) => ({ cells: row }))));
    const cycles = view.documents.cycles?.cycles;
    if (cycles) {
      root.append(el("h2", {}, "Cycles, by the emulator's model"), tableOf(["what", "estimate"], [
        { cells: ["the launch", `${number(cycles.total)} cycles, ${number(cycles.microseconds, 2)} µs at ${cycles.clock_ghz} GHz`] },
        { cells: ["a workgroup, in steady state", `${number(cycles.per_workgroup)} cycles`] },
        { cells: ["matrix units", `${number(cycles.matrix_tflops, 1)} TFLOP/s, busy ${percent(cycles.mfma_utilisation)}`] },
        { cells: ["waves on a SIMD", number(cycles.waves_per_simd, 1)] },
      ]));
    }
    for (const [name, tables] of Object.entries(view.tables)) {
      root.append(el("h2", {}, name));
      for (const [titles, rows] of tables) root.append(tableOf(titles, rows.map((cells) => ({ cells }))));
    }
    const absent = view.missing.filter((row) => !views.some((each) => each.id === row.view || each.document === row.view));
    for (const row of absent) root.append(el("p", { class: "dim" }, `${row.view}: ${row.why}`));
  },
});
