// The kernel under the roofs of the machine.

views.push({
  id: "roofline", title: "Roofline", document: "roofline",
  nothing: "There are no roofs to compare with.",
  available: () => view.roofline !== null,
  draw(root) {
    const found = view.roofline, shown = el("div");
    const compute = found.roofs.filter((roof) => roof.unit === "FLOP" && roof.work > 0);
    const cycles = view.documents.cycles?.cycles;
    const flops = Object.values(found.matrix_flops).reduce((sum, each) => sum + each, 0) + found.vector_flops;
    const points = [["least time", flops / (found.least_us * 1e3), "--c3"]];
    if (cycles?.microseconds) points.push(["the emulator's model", flops / (cycles.microseconds * 1e3), "--c4"]);
    const paint = () => shown.replaceChildren(flops ? picture(found, compute, points) : el("p", {}, "The kernel counts no FLOPs; see the table."));
    paint();
    redraws.push(paint);
    root.append(
      el("p", {}, `Bound by ${found.bound_by}: at best ${number(found.least_us, 3)} µs. ${number(found.workgroups)} workgroups keep ` +
        `${percent(found.compute_units_busy)} of ${found.compute_units} compute units busy.`),
      shown, legend(points.map(([text, , fill]) => [`${text}`, `var(${fill})`])),
      tableOf(["limit", "peak", "work", "least time"], found.roofs.map((roof) => ({ cells: [roof.name, `${number(roof.peak_per_ns / 1e3, 2)} T${roof.unit}/s`,
        `${number(roof.work)} ${roof.unit}`, `${number(roof.ns / 1e3, 3)} µs`] })), [1, 2, 3]));
    if (found.loops_counted_once) root.append(el("p", { class: "dim" }, `${found.loops_counted_once} loops of unknown length are counted once.`));
  },
});

function picture(found, compute, points) {
  const wide = 760, high = 430, left = 70, bottom = 48, top = 16, right = 20;
  const rates = [...compute.map((roof) => roof.peak_per_ns), ...points.map((point) => point[1])].filter((rate) => rate > 0);
  const decade = (value, way) => 10 ** (way(Math.log10(value) - (way === Math.floor ? 0.2 : -0.2)));
  const ridge = Math.max(...compute.map((roof) => roof.peak_per_ns), 1e-9) / found.memory_bytes_per_ns;
  const xs = [decade(Math.min(found.intensity, ridge / 10), Math.floor), decade(Math.max(found.intensity, ridge * 3), Math.ceil)];
  const ys = [decade(Math.min(...rates), Math.floor), decade(Math.max(...rates), Math.ceil)];
  const scale = (value, [from, to], begin, end) => begin + (Math.log10(value / from) / Math.log10(to / from)) * (end - begin);
  const x = (value) => scale(value, xs, left, wide - right), y = (value) => scale(value, ys, high - bottom, top);
  const made = el("svg:svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "font-size": 12,
    "aria-label": `Roofline: ${number(found.intensity, 1)} FLOP per byte, bound by ${found.bound_by}` });
  made.style.maxWidth = "100%";
  const line = (x1, y1, x2, y2, stroke, more = {}) => made.append(el("svg:line", { x1, y1, x2, y2, stroke, ...more }));
  const text = (x1, y1, words, more = {}) => made.append(el("svg:text", { x: x1, y: y1, fill: colour("--text"), ...more }, words));
  for (let value = xs[0]; value <= xs[1] * 1.001; value *= 10) {
    line(x(value), top, x(value), high - bottom, colour("--line"));
    text(x(value), high - bottom + 16, number(value, 3), { "text-anchor": "middle" });
  }
  for (let value = ys[0]; value <= ys[1] * 1.001; value *= 10) {
    line(left, y(value), wide - right, y(value), colour("--line"));
    text(left - 6, y(value) + 4, number(value / 1e3, 6), { "text-anchor": "end" });
  }
  text((left + wide - right) / 2, high - 10, "intensity: FLOP for each byte of memory that has to move", { "text-anchor": "middle" });
  const across = `rotate(-90 14 ${(high - bottom + top) / 2})`;
  text(14, (high - bottom + top) / 2, "TFLOP/s", { "text-anchor": "middle", transform: across });
  const slope = (value) => value * found.memory_bytes_per_ns;
  const from = Math.max(xs[0], ys[0] / found.memory_bytes_per_ns);
  const highest = Math.max(...compute.map((roof) => roof.peak_per_ns));
  line(x(from), y(slope(from)), x(ridge), y(highest), colour("--c1"), { "stroke-width": 2 });
  const middle = Math.sqrt(from * ridge);
  text(x(middle) - 8, y(slope(middle)) - 8, `memory ${number(found.memory_bytes_per_ns / 1e3, 2)} TB/s`, { "text-anchor": "end" });
  for (const roof of compute) {
    line(x(roof.peak_per_ns / found.memory_bytes_per_ns), y(roof.peak_per_ns), wide - right, y(roof.peak_per_ns), colour("--c2"), { "stroke-width": 2 });
    text(wide - right - 4, y(roof.peak_per_ns) - 6, `${roof.name}: ${number(roof.peak_per_ns / 1e3, 1)} TFLOP/s`, { "text-anchor": "end" });
  }
  line(x(found.intensity), top, x(found.intensity), high - bottom, colour("--dim"), { "stroke-dasharray": "4 4" });
  text(x(found.intensity) + 5, high - bottom - 6, `${number(found.intensity, 2)} FLOP/B`, { fill: colour("--dim") });
  for (const [name, rate, fill] of points) {
    const dot = el("svg:circle", { cx: x(found.intensity), cy: y(rate), r: 6, fill: colour(fill), stroke: colour("--back"), "stroke-width": 1.5 });
    made.append(dot);
    text(x(found.intensity) + 10, y(rate) + 4, `${name}: ${number(rate / 1e3, 2)} TFLOP/s`);
  }
  return made;
}
