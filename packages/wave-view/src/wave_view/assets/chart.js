// A chart of bars over cycles: rows, an axis, zoom by wheel, keys and buttons.

const AXIS = 34;

/** Steps of an axis: a round number of units at most `most` times in `span`. */
function roundStep(span, most) {
  const raw = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
}

/**
 * Draw bars: `{row, start, end, fill, label, tip, place, from}`, the last a start of waiting.
 * `rows` are names; `length` cycles in all; `ghz` for times, or null.
 */
function timeChart({ rows, bars, length, ghz, name, tall: ROW = 20 }) {
  const LEFT = Math.min(260, 24 + 6.3 * Math.max(...rows.map((text) => text.length), 8));
  const canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": `${name}: ${rows.length} rows, ${number(length)} cycles. Keys: plus, minus, arrows, 0.` });
  const plot = el("div", { class: "plot" }, canvas);
  const range = { from: 0, to: length };
  const byRow = rows.map(() => []);
  for (const bar of bars) byRow[bar.row].push(bar);
  for (const each of byRow) each.sort((one, two) => (one.from ?? one.start) - (two.from ?? two.start));
  const height = AXIS + rows.length * ROW + 4;
  const span = el("output", { class: "dim" });
  const width = () => Math.max(300, plot.clientWidth);
  const x = (cycle) => LEFT + ((cycle - range.from) / (range.to - range.from)) * (width() - LEFT - 8);
  const cycleAt = (pixel) => range.from + ((pixel - LEFT) / (width() - LEFT - 8)) * (range.to - range.from);

  const axis = (pen) => {
    const step = roundStep(range.to - range.from, (width() - LEFT) / 90);
    pen.textAlign = "center";
    for (let at = Math.ceil(range.from / step) * step; at <= range.to; at += step) {
      pen.fillStyle = colour("--line");
      pen.fillRect(x(at), AXIS - 6, 1, height - AXIS + 6);
      pen.fillStyle = colour("--dim");
      pen.fillText(number(at, 2), x(at), 12);
      if (ghz) pen.fillText(`${number(at / ghz / 1e3, 3)} µs`, x(at), 25);
    }
    pen.textAlign = "left";
    pen.fillText("cycle", 8, 12);
    if (ghz) pen.fillText(`at ${ghz} GHz`, 8, 25);
  };

  const drawBar = (pen, bar) => {
    const dimmed = selection.place && !(bar.place && isSelected(bar.lines));
    const top = AXIS + bar.row * ROW + 2, tall = ROW - 4;
    pen.globalAlpha = dimmed ? 0.2 : 1;
    const left = Math.max(LEFT, x(bar.start)), right = x(bar.end);
    if (bar.from !== undefined && bar.from < bar.start) {
      const begin = Math.max(LEFT, x(bar.from));
      pen.fillStyle = bar.fill;
      pen.fillRect(begin, top + tall / 2 - 1, Math.max(0, left - begin), 2);
    }
    if (right < LEFT) { pen.globalAlpha = 1; return; }
    pen.fillStyle = bar.fill;
    pen.fillRect(left, top, Math.max(0.7, right - left - 0.5), tall);
    if (right - left > 26 && bar.label) {
      pen.save();
      pen.beginPath();
      pen.rect(left, top, right - left - 2, tall);
      pen.clip();
      pen.fillStyle = colour("--back");
      pen.fillText(bar.label, left + 3, top + tall / 2 + 4);
      pen.restore();
    }
    pen.globalAlpha = 1;
  };

  const draw = () => {
    if (!plot.clientWidth) return;
    const scale = devicePixelRatio || 1;
    canvas.width = width() * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width()}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px system-ui, sans-serif";
    axis(pen);
    rows.forEach((text, at) => {
      pen.fillStyle = colour(at % 2 ? "--back" : "--raised");
      pen.fillRect(0, AXIS + at * ROW, LEFT - 4, ROW);
      pen.fillStyle = colour("--text");
      pen.fillText(text, 8, AXIS + at * ROW + ROW / 2 + 4, LEFT - 16);
    });
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, AXIS - 6, width() - LEFT, height);
    pen.clip();
    for (const each of byRow)
      for (const bar of each) if (bar.end >= range.from && (bar.from ?? bar.start) <= range.to) drawBar(pen, bar);
    pen.restore();
    span.textContent = `cycles ${number(range.from)} to ${number(range.to)} of ${number(length)}`;
  };

  const zoom = (factor, around) => {
    const middle = around ?? (range.from + range.to) / 2;
    const size = Math.min(length, Math.max(8, (range.to - range.from) * factor));
    const part = (middle - range.from) / (range.to - range.from);
    move(middle - part * size, size);
  };
  const move = (from, size = range.to - range.from) => {
    range.from = Math.max(0, Math.min(from, length - size));
    range.to = range.from + size;
    draw();
  };
  const barAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const cycle = cycleAt(event.clientX - box.left), row = Math.floor((event.clientY - box.top - AXIS) / ROW);
    if (event.clientX - box.left < LEFT) return null;
    const near = (range.to - range.from) / width();
    return byRow[row]?.find((bar) => cycle >= bar.start - near && cycle <= bar.end + near) ??
      byRow[row]?.find((bar) => bar.from !== undefined && cycle >= bar.from && cycle < bar.start) ?? null;
  };

  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) < Math.abs(event.deltaY) && event.altKey) return;
    event.preventDefault();
    const at = cycleAt(event.clientX - canvas.getBoundingClientRect().left);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(range.from + (event.deltaX / width()) * (range.to - range.from));
    else zoom(event.deltaY > 0 ? 1.25 : 0.8, at);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, from: range.from, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      drag.moved ||= Math.abs(event.clientX - drag.x) > 3;
      if (drag.moved) move(drag.from - ((event.clientX - drag.x) / (width() - LEFT)) * (range.to - range.from));
      return;
    }
    const bar = barAt(event);
    if (bar) showTip(event, bar.tip()); else hideTip();
  });
  canvas.addEventListener("pointerup", (event) => {
    const bar = barAt(event);
    if (drag && !drag.moved && bar?.place) toggle(bar.place);
    drag = null;
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("keydown", (event) => {
    const step = (range.to - range.from) / 8;
    const act = { "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.6), 0: () => move(0, length),
      ArrowLeft: () => move(range.from - step), ArrowRight: () => move(range.from + step) }[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  const button = (text, label, act) => el("button", { click: act, "aria-label": label, title: label }, text);
  const bar = el("div", { class: "bar" },
    button("+", "zoom in", () => zoom(0.6)), button("−", "zoom out", () => zoom(1.6)), button("all", "show all", () => move(0, length)), span,
    el("span", { class: "dim" }, "wheel zooms, dragging moves, a click selects the line"));
  redraws.push(draw);
  selection.listeners.push(draw);
  for (const each of bars) each.lines = each.place ? [...linesOf(each.place).values()] : [];
  requestAnimationFrame(draw);
  return { bar, plot, draw };
}
