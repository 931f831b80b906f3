// Which lane and register of a wave holds which element of a value.

/** All holders: `{at: index by dimension, lane, register, step}`. */
function holders(layout) {
  const sums = layout.dims.map(([, digits]) => {
    const part = (source, count) => Array.from({ length: count }, (_, at) => digits.filter((digit) => digit[1] === source)
      .reduce((sum, [coeff, , div, mod]) => sum + coeff * (Math.floor(at / div) % mod), 0));
    return [part("lane", layout.lanes), part("reg", layout.registers)];
  });
  let starts = [layout.dims.map(() => 0)];
  for (const [name, count, extent] of layout.steps)
    starts = starts.flatMap((start) => Array.from({ length: count }, (_, at) => start.map((value, dim) =>
      value + (layout.dims[dim][0] === name ? at * extent : 0))));
  const found = [];
  starts.forEach((start, step) => {
    for (let lane = 0; lane < layout.lanes; lane += 1)
      for (let register = 0; register < layout.registers; register += 1)
        found.push({ at: start.map((value, dim) => value + sums[dim][0][lane] + sums[dim][1][register]),
          lane, register: step * layout.registers + register, step });
  });
  return found;
}

const laneFill = (at, count) => `hsl(${(300 * at) / Math.max(1, count)} 62% ${at % 2 ? 66 : 76}%)`;

views.push({
  id: "elements", title: "Lanes and registers",
  available: () => view.layouts.length > 0,
  hits: () => view.layouts.filter((layout) => isSelected(view.place_lists[layout.places])).length,
  draw(root) {
    const state = { at: 0, rows: 0, columns: 0, fixed: [], by: "lane", size: 24, cursor: [0, 0], lane: null };
    const controls = el("div", { class: "bar" }), about = el("p", { class: "dim" });
    const canvas = el("canvas", { tabindex: 0, role: "img" });
    const box = el("div", { class: "plot scroll" }, canvas), read = el("p", { role: "status", "aria-live": "polite" }), key = el("div");
    root.append(controls, about, box, read, key);
    const name = (layout) => {
      const from = view.place_lists[layout.places];
      return `#${layout.key} ${layout.title}${from.length ? `, ${placeName(from[0])}` : ""}`;
    };

    const setUp = (at) => {
      state.at = at;
      const layout = view.layouts[at];
      state.all = holders(layout);
      state.extents = layout.dims.map((_, dim) => 1 + state.all.reduce((most, each) => Math.max(most, each.at[dim]), 0));
      const long = state.extents.map((_, dim) => dim).filter((dim) => state.extents[dim] > 1);
      const shown = (long.length > 1 ? long : state.extents.map((_, dim) => dim)).slice(-2);
      state.columns = shown.at(-1);
      state.rows = shown.length > 1 ? shown[0] : -1;
      state.fixed = state.extents.map(() => 0);
      state.cursor = [0, 0];
      state.lane = null;
      state.size = Math.max(6, Math.min(34, Math.floor((box.clientWidth - 70) / state.extents[state.columns])));
      drawControls();
      draw();
    };

    const drawControls = () => {
      const layout = view.layouts[state.at];
      const dims = layout.dims.map(([dim], at) => [at, `${dim} (${state.extents[at]})`]);
      const size = el("input", { type: "range", min: 6, max: 48, value: state.size, input: () => { state.size = Number(size.value); draw(); } });
      const other = layout.dims.map((_, dim) => dim).filter((dim) => dim !== state.rows && dim !== state.columns && state.extents[dim] > 1);
      controls.replaceChildren(
        choice("value", view.layouts.map((each, at) => [at, name(each)]), state.at, (at) => setUp(Number(at))),
        ...(dims.length > 1 ? [
          choice("down", [[-1, "nothing"], ...dims], state.rows, (dim) => { pick("rows", Number(dim)); }),
          choice("across", dims, state.columns, (dim) => { pick("columns", Number(dim)); })] : []),
        ...other.map((dim) => {
          const told = el("output", {}, String(state.fixed[dim]));
          const slider = el("input", { type: "range", min: 0, max: state.extents[dim] - 1, value: state.fixed[dim], input: () => {
            state.fixed[dim] = Number(slider.value);
            told.textContent = slider.value;
            draw();
          } });
          return el("label", {}, `${layout.dims[dim][0]} =`, slider, told);
        }),
        choice("colour", [["lane", "by lane"], ["register", "by register"], ["step", "by step"]], state.by, (by) => { state.by = by; draw(); }),
        el("label", {}, "size", size));
      const steps = layout.steps.map(([dim, count, extent]) => `${count} along ${dim}, ${extent} apart`).join(", ");
      const digits = layout.dims.map(([dim, rows]) => `${dim} = ${rows.map(([coeff, source, div, mod]) => `${coeff === 1 ? "" : `${coeff}·`}` +
        `(${source}${div === 1 ? "" : `/${div}`} mod ${mod})`).join(" + ") || "the same for all"}`).join(";  ");
      about.textContent = `The tile of one wave, ${layout.lanes} lanes with ${layout.registers} ${layout.registers === 1 ? "element" : "elements"} in a step${steps ? `; steps: ${steps}` : ""}.  ${digits}`;
    };
    const pick = (which, dim) => {
      const other = which === "rows" ? "columns" : "rows";
      if (state[other] === dim) state[other] = state[which] < 0 ? state.extents.findIndex((_, at) => at !== dim) : state[which];
      state[which] = dim;
      state.cursor = [0, 0];
      drawControls();
      draw();
    };

    const cut = () => {
      const found = new Map();
      for (const each of state.all) {
        if (!each.at.every((value, dim) => dim === state.rows || dim === state.columns || value === state.fixed[dim])) continue;
        const spot = `${state.rows < 0 ? 0 : each.at[state.rows]},${each.at[state.columns]}`;
        if (!found.has(spot)) found.set(spot, []);
        found.get(spot).push(each);
      }
      return found;
    };

    const draw = () => {
      if (!box.clientWidth) return;
      const layout = view.layouts[state.at], size = state.size, left = 52, top = 36;
      const rows = state.rows < 0 ? 1 : state.extents[state.rows], columns = state.extents[state.columns];
      state.cells = cut();
      const most = { lane: layout.lanes, register: layout.registers * Math.max(1, state.all.at(-1).step + 1), step: state.all.at(-1).step + 1 }[state.by];
      const scale = Math.min(devicePixelRatio || 1, 16000 / Math.max(left + columns * size, top + rows * size));
      canvas.width = (left + columns * size + 2) * scale;
      canvas.height = (top + rows * size + 2) * scale;
      canvas.style.width = `${left + columns * size + 2}px`;
      canvas.style.height = `${top + rows * size + 2}px`;
      canvas.setAttribute("aria-label", `${rows} by ${columns} elements of ${name(layout)}; arrow keys read them`);
      const pen = canvas.getContext("2d");
      pen.scale(scale, scale);
      pen.font = "11px system-ui, sans-serif";
      pen.fillStyle = colour("--dim");
      const dims = layout.dims;
      pen.fillText(`${dims[state.columns][0]} →`, left, 12);
      if (state.rows >= 0) pen.fillText(`${dims[state.rows][0]} ↓`, 4, top - 6);
      const every = (count) => roundStep(count, (count * size) / 40);
      for (let at = 0; at < columns; at += Math.max(1, every(columns))) pen.fillText(String(at), left + at * size + 2, top - 6);
      for (let at = 0; at < rows; at += Math.max(1, every(rows))) pen.fillText(String(at), 22, top + at * size + Math.min(12, size));
      pen.textAlign = "center";
      for (const [spot, held] of state.cells) {
        const [row, column] = spot.split(",").map(Number), first = held[0];
        const chosen = state.lane === null || held.some((each) => each.lane === state.lane);
        pen.globalAlpha = chosen ? 1 : 0.18;
        pen.fillStyle = laneFill(first[state.by], most);
        pen.fillRect(left + column * size, top + row * size, size - (size > 9 ? 1 : 0), size - (size > 9 ? 1 : 0));
        if (size >= 20) {
          pen.fillStyle = "#111";
          pen.font = `${Math.min(12, size / 2)}px system-ui, sans-serif`;
          const middle = left + column * size + size / 2;
          pen.fillText(`${first.lane}${held.length > 1 ? "+" : ""}`, middle, top + row * size + size * 0.45);
          pen.font = `${Math.min(10, size / 2.6)}px system-ui, sans-serif`;
          pen.fillText(`r${first.register}`, middle, top + row * size + size * 0.85);
        }
      }
      pen.globalAlpha = 1;
      pen.strokeStyle = colour("--text");
      pen.lineWidth = 2;
      pen.strokeRect(left + state.cursor[1] * size, top + state.cursor[0] * size, size, size);
      const samples = [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * (most - 1)));
      key.replaceChildren(legend([...new Set(samples)].map((at) => [`${state.by} ${at}`, laneFill(at, most)])),
        el("p", { class: "dim" }, "Upper number: the first lane that holds the element (+: others hold it too); r: the place among that lane's registers. A click shows all elements of a lane."));
    };

    const spotAt = (event) => {
      const area = canvas.getBoundingClientRect();
      return [Math.floor((event.clientY - area.top - 36) / state.size), Math.floor((event.clientX - area.left - 52) / state.size)];
    };
    const words = ([row, column]) => {
      const held = state.cells.get(`${row},${column}`);
      const layout = view.layouts[state.at];
      const where = layout.dims.map(([dim], at) => `${dim}=${at === state.rows ? row : at === state.columns ? column : state.fixed[at]}`).join(", ");
      if (!held) return `${where}: nobody`;
      const listed = held.slice(0, 8).map((each) => `lane ${each.lane}, register ${each.register}${state.all.at(-1).step ? ` (step ${each.step})` : ""}`);
      return `${where}: ${listed.join("; ")}${held.length > 8 ? `; and ${held.length - 8} more` : ""}`;
    };
    canvas.addEventListener("pointermove", (event) => {
      const spot = spotAt(event);
      if (state.cells?.has(spot.join(","))) showTip(event, words(spot)); else hideTip();
    });
    canvas.addEventListener("pointerleave", hideTip);
    const choose = (spot) => {
      state.cursor = spot;
      const lane = state.cells.get(spot.join(","))?.[0].lane ?? null;
      state.lane = state.lane === lane ? null : lane;
      read.textContent = words(spot);
      draw();
    };
    canvas.addEventListener("click", (event) => { const spot = spotAt(event); if (state.cells.has(spot.join(","))) choose(spot); });
    canvas.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(state.cursor); return; }
      const [down, across] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
      if (!down && !across) return;
      event.preventDefault();
      const rows = state.rows < 0 ? 1 : state.extents[state.rows];
      state.cursor = [Math.max(0, Math.min(rows - 1, state.cursor[0] + down)), Math.max(0, Math.min(state.extents[state.columns] - 1, state.cursor[1] + across))];
      read.textContent = words(state.cursor);
      draw();
    });
    redraws.push(draw);
    this.shown = draw;
    const follow = () => {
      if (!selection.place || isSelected(view.place_lists[view.layouts[state.at].places])) return;
      // Of the values of a line the one that has most to show.
      const sizeOf = (layout) => layout.steps.reduce((size, [, count]) => size * count, layout.dims.length * layout.registers);
      const found = view.layouts.filter((layout) => isSelected(view.place_lists[layout.places]));
      found.sort((one, two) => sizeOf(two) - sizeOf(one));
      if (found.length) setUp(view.layouts.indexOf(found[0]));
    };
    selection.listeners.push(follow);
    const matrix = view.layouts.findIndex((layout) => layout.title.startsWith("mma"));
    setUp(Math.max(0, matrix));
    follow();
  },
});
