// LDS: buffers over time, how rows lie in the banks, and which lanes meet there.

views.push({
  id: "lds", title: "LDS", document: "memory",
  available: () => (view.documents.memory?.buffers ?? []).length > 0,
  nothing: "The kernel keeps nothing in LDS.",
  hits: () => view.documents.memory.buffers.filter((buffer) => linkedTo(buffer.source)).length,
  draw(root) {
    const found = view.documents.memory;
    const rows = found.buffers.map((buffer, at) => ({
      place: placeOf(buffer.source),
      cells: [`${at}: [${buffer.name}]`, buffer.line || "", `${buffer.extents.join(" × ")} ${buffer.dtype}`, number(buffer.bytes), number(buffer.offset), buffer.layout,
        buffer.conflicts_before, buffer.conflicts],
    }));
    const used = Math.max(...found.buffers.map((buffer) => buffer.offset + buffer.bytes));
    root.append(
      el("p", {}, `${number(used)} of ${number(found.lds_bytes)} bytes of a workgroup.`),
      tableOf(["buffer", "line", "elements", "bytes", "first byte", "rows are stored", "conflicts as they come", "conflicts now"], rows, [1, 3, 4, 6, 7]),
      el("p", { class: "dim" }, "Conflicts: cycles beyond the least that all waves of a workgroup take for each access once; before, with rows stored as they come, and now."),
      el("h2", {}, "Bytes over the program"), spans(found, used));
    const shown = el("div");
    root.append(el("h2", {}, "Banks"), shown);
    banks(shown, found);
  },
});

/** Which bytes are in use from which op to which. */
function spans(found, used) {
  const wide = 760, high = 170, left = 72, bottom = 34, top = 8;
  const last = Math.max(...found.buffers.map((buffer) => buffer.last + 1));
  const x = (op) => left + (op / last) * (wide - left - 10), y = (byte) => high - bottom - (byte / used) * (high - bottom - top);
  const made = el("svg:svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "font-size": 11, "aria-label": "Bytes of LDS over the ops of the program" });
  made.style.maxWidth = "100%";
  const text = (at, down, words, more = {}) => made.append(el("svg:text", { x: at, y: down, fill: "currentColor", ...more }, words));
  for (const part of [0, 0.5, 1]) text(left - 6, y(part * used) + 4, number(part * used), { "text-anchor": "end" });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) text(x(part * last), high - bottom + 14, number(part * last), { "text-anchor": "middle" });
  text((left + wide) / 2, high - 4, "op of the lowered program, in order", { "text-anchor": "middle" });
  const middle = (top + high - bottom) / 2;
  text(10, middle, "byte", { "text-anchor": "middle", transform: `rotate(-90 10 ${middle})` });
  found.buffers.forEach((buffer, at) => {
    const fill = `var(${STAGES[at % STAGES.length]})`;
    const box = el("svg:rect", { x: x(buffer.first), y: y(buffer.offset + buffer.bytes), width: Math.max(3, x(buffer.last + 1) - x(buffer.first)),
      height: Math.max(3, y(buffer.offset) - y(buffer.offset + buffer.bytes) - 1) });
    box.style.fill = fill;
    made.append(box);
    text(x(buffer.first) + 5, y(buffer.offset + buffer.bytes) + 13, `${at}: [${buffer.name}]`, { style: "fill: var(--back)" });
  });
  return made;
}

/** One buffer: rows of its storage, who writes each element, and one access by lane and bank. */
function banks(root, found) {
  const state = { buffer: 0, access: 0, phase: -1, cursor: null };
  const controls = el("div", { class: "bar" }), about = el("p"), canvas = el("canvas", { role: "img", tabindex: 0 });
  const box = el("div", { class: "plot scroll" }, canvas), key = el("div"), read = el("p", { role: "status", "aria-live": "polite" });
  root.append(controls, about, box, read, key);
  const accessName = (row) => `${row.kind}${row.source ? `, ${placeName(placeOf(row.source))}` : ""}: ${row.bits} bits a lane, ${row.cycles} cycles, ${row.conflicts} of them conflicts`;

  const setUp = () => {
    state.cursor = null;
    const { accesses } = found.buffers[state.buffer];
    controls.replaceChildren(
      choice("buffer", found.buffers.map((row, at) => [at, `${at}: [${row.name}]`]), state.buffer, (at) => { state.buffer = Number(at); state.access = 0; state.phase = -1; setUp(); }),
      choice("show", [["-1", "thread that writes each element"], ...accesses.map((row, at) => [at, accessName(row)])], state.access,
        (at) => { state.access = Number(at); state.phase = -1; setUp(); }),
      ...(accesses[state.access] ? [choice("lanes served", [[-1, "all phases"], ...accesses[state.access].phases.map((lanes, at) => [at, `phase ${at}: lanes ${ranges(lanes)}`])],
        state.phase, (at) => { state.phase = Number(at); state.cursor = null; draw(); })] : []));
    draw();
  };

  const draw = () => {
    if (!root.clientWidth) return;
    const buffer = found.buffers[state.buffer], access = buffer.accesses[state.access];
    state.marks = access ? accessMarks(buffer, access, found, state.phase) : writers(buffer, found);
    const count = access?.banks ?? found.banks, wide = Math.max(10, Math.min(26, Math.floor((root.clientWidth - 90) / count))), high = 17;
    const left = 62, top = 34, rows = 1 + Math.max(0, ...state.marks.map((mark) => mark.row));
    const scale = devicePixelRatio || 1;
    state.at = { left, top, wide, high };
    canvas.width = (left + count * wide + 4) * scale;
    canvas.height = (top + rows * high + 6) * scale;
    canvas.style.width = `${left + count * wide + 4}px`;
    canvas.style.height = `${top + rows * high + 6}px`;
    canvas.setAttribute("aria-label", access ? accessName(access) : "threads that write each element");
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = colour("--dim");
    pen.fillText("bank →", left, 12);
    pen.fillText("byte ↓", 4, top - 6);
    for (let bank = 0; bank < count; bank += count > 40 ? 8 : 4) pen.fillText(String(bank), left + bank * wide + 1, top - 6);
    for (let row = 0; row < rows; row += Math.max(1, Math.ceil(rows / 40))) pen.fillText(number(row * count * found.bank_bytes), 4, top + row * high + 13);
    for (const mark of state.marks) {
      const at = left + mark.bank * wide, down = top + mark.row * high;
      pen.fillStyle = mark.lane < 0 ? colour("--raised") : laneFill(mark.lane % 64, 64);
      pen.fillRect(at, down, wide - 1, high - 1);
      if (mark.meets > 1) {
        pen.strokeStyle = colour("--c4");
        pen.lineWidth = 2;
        pen.strokeRect(at + 1, down + 1, wide - 3, high - 3);
      }
      if (wide >= 16 && mark.lane >= 0) { pen.fillStyle = "#111"; pen.fillText(mark.text, at + 2, down + 12, wide - 3); }
    }
    if (state.cursor) {
      pen.strokeStyle = colour("--text");
      pen.lineWidth = 2;
      pen.strokeRect(left + state.cursor.bank * wide, top + state.cursor.row * high, wide, high);
    }
    about.textContent = access
      ? `One ${access.kind} by one wave: ${access.cycles} cycles, ${access.conflicts} of them since lanes of a phase meet in a bank at other words.`
      : `The first ${buffer.owners.length} rows as they lie in memory; a number is the thread that writes the bank's ${found.bank_bytes} bytes.`;
    key.replaceChildren(legend([...[0, 16, 32, 48, 63].map((lane) => [`lane ${lane}`, laneFill(lane, 64)])]),
      el("p", { class: "dim" }, access ? "A red frame: another lane of the same phase wants another word of this bank." : "Rows that are permuted or padded show as shifted colours."));
  };
  const markAt = (bank, row) => state.marks.find((each) => each.bank === bank && each.row === row);
  canvas.addEventListener("keydown", (event) => {
    const [down, across] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
    if (!down && !across) return;
    event.preventDefault();
    const from = state.cursor ?? state.marks[0];
    const next = state.cursor ? markAt(from.bank + across, from.row + down) : from;
    if (!next) return;
    state.cursor = next;
    read.textContent = next.tip.replaceAll("\n", "; ");
    draw();
  });
  canvas.addEventListener("pointermove", (event) => {
    const area = canvas.getBoundingClientRect(), { left, top, wide, high } = state.at;
    const bank = Math.floor((event.clientX - area.left - left) / wide), row = Math.floor((event.clientY - area.top - top) / high);
    const mark = markAt(bank, row);
    if (mark) showTip(event, mark.tip); else hideTip();
  });
  canvas.addEventListener("pointerleave", hideTip);
  redraws.push(draw);
  views.find((each) => each.id === "lds").shown = draw;
  requestAnimationFrame(setUp);
}

/** Numbers as ranges: 0-3, 8-11. */
function ranges(values) {
  const parts = [];
  for (const value of values) {
    const last = parts.at(-1);
    if (last && last[1] + 1 === value) last[1] = value; else parts.push([value, value]);
  }
  return parts.map(([from, to]) => (from === to ? from : `${from}–${to}`)).join(", ");
}

/** The words that an access of one wave touches, and who meets whom. */
function accessMarks(buffer, access, found, phase) {
  const words = Math.max(1, access.bits / 8 / found.bank_bytes), marks = new Map();
  access.phases.forEach((lanes, at) => {
    const seen = new Map();
    for (const lane of lanes) {
      const byte = access.bytes[lane];
      if (byte === undefined || byte < 0) continue;
      for (let word = 0; word < words; word += 1) {
        const number_ = Math.floor(byte / found.bank_bytes) + word, bank = number_ % access.banks;
        if (!seen.has(bank)) seen.set(bank, new Set());
        seen.get(bank).add(number_);
        if (phase < 0 || phase === at) marks.set(number_, { bank, row: Math.floor(number_ / access.banks), lane, text: String(lane), phase: at });
      }
    }
    for (const mark of marks.values()) if (mark.phase === at) mark.meets = seen.get(mark.bank).size;
  });
  for (const [number_, mark] of marks)
    mark.tip = `byte ${number_ * found.bank_bytes}, bank ${mark.bank}\nlane ${mark.lane}, served in phase ${mark.phase}` +
      (mark.meets > 1 ? `\n${mark.meets} words of this bank in the phase: ${mark.meets - 1} cycles more` : "");
  return [...marks.values()];
}

/** The thread that writes each bank's bytes, in the first rows. */
function writers(buffer, found) {
  const width = buffer.extents.at(-1), bytes = buffer.element_bytes, marks = new Map();
  buffer.owners.forEach((row, down) => row.forEach((thread, across) => {
    const word = Math.floor(((down * width + across) * bytes) / found.bank_bytes);
    if (marks.has(word)) return;
    marks.set(word, { bank: word % found.banks, row: Math.floor(word / found.banks), lane: thread, text: String(thread), meets: 1,
      tip: `byte ${word * found.bank_bytes}, bank ${word % found.banks}\nrow ${down}, element ${across}: ${thread < 0 ? "nobody writes it" : `thread ${thread}`}` });
  }));
  return [...marks.values()];
}
