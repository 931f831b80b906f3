// What all views share: the data, elements, what is selected, and tool tips.

const view = JSON.parse(document.getElementById("data").textContent);
const views = [];

/** An element; functions among the attributes are listeners, texts are never markup. */
function el(tag, attributes = {}, ...children) {
  const made = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** The colour of a CSS variable as it is now. */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const number = (value, digits = 0) =>
  Number(value).toLocaleString("en", { maximumFractionDigits: digits });

const percent = (share) => `${(100 * share).toFixed(1)} %`;

// ---- places: "file:line" of the author

const keyOf = (place) => `${place[0]}:${place[1]}`;
const baseName = (file) => file.split(/[\\/]/).pop();
const placeName = (place) => `${baseName(view.sources[place[0]].file)}:${place[1]}`;
const callersOf = new Map(view.above.map(([place, rows]) => [keyOf(place), rows]));

/** All lines that a place stands for: itself, and what called it. */
function linesOf(place) {
  const found = new Map();
  const waiting = [place];
  while (waiting.length) {
    const next = waiting.pop();
    if (found.has(keyOf(next))) continue;
    found.set(keyOf(next), next);
    waiting.push(...(callersOf.get(keyOf(next)) ?? []));
  }
  return found;
}

/** The place that `file.py:12` names; debug information leaves the directory out. */
function placeOf(text) {
  const cut = text ? text.lastIndexOf(":") : -1;
  if (cut < 0) return null;
  const whole = view.sources.findIndex((source) => source.file === text.slice(0, cut));
  const name = baseName(text.slice(0, cut));
  const file = whole < 0 ? view.sources.findIndex((source) => baseName(source.file) === name) : whole;
  const line = Number(text.slice(cut + 1));
  return file < 0 || !line ? null : [file, line];
}

// ---- what is selected

const selection = { place: null, listeners: [] };

/** Select a line of the author's in all views; null selects nothing. */
function select(place) {
  selection.place = place;
  for (const listener of selection.listeners) listener(place);
  remember();
}

/** Whether something that comes from these places is selected. */
function isSelected(places) {
  const chosen = selection.place;
  return chosen !== null && places.some((place) => place[0] === chosen[0] && place[1] === chosen[1]);
}

/** Whether the line `file.py:12`, or one that called it, is selected. */
function linkedTo(source) {
  const place = placeOf(source);
  return place !== null && isSelected([...linesOf(place).values()]);
}

/** Select a place, or nothing where it is selected already. */
function toggle(place) {
  select(place && isSelected([place]) ? null : place);
}

function remember() {
  const chosen = selection.place ? `&line=${keyOf(selection.place)}` : "";
  const hash = `#view=${currentView()}${chosen}`;
  if (location.hash !== hash) {
    // A page that is shown in a frame of its own has no history.
    try { history.replaceState(null, "", hash); } catch { /* not kept then */ }
  }
}

// ---- tool tips

const tip = document.getElementById("tip");

function showTip(event, text) {
  tip.textContent = text;
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
  const below = event.clientY + 18;
  tip.style.top = `${below + box.height > innerHeight ? event.clientY - box.height - 10 : below}px`;
}

function hideTip() {
  tip.style.display = "none";
}

// ---- small parts

/** Why a view is missing, as a note; null where nothing is said. */
function missingNote(name) {
  const found = view.missing.filter((row) => row.view === name);
  if (!found.length) return null;
  const texts = found.map((row) => [row.why, ...row.help.map((line) => `help: ${line}`)].join("\n"));
  return el("div", { class: "note" }, el("pre", {}, texts.join("\n")));
}

function tableOf(titles, rows, numeric = []) {
  const cell = (tag, text, at) =>
    el(tag, { class: numeric.includes(at) ? "num" : null }, text instanceof Node ? text : String(text));
  const body = rows.map((row) => {
    const made = el("tr", {}, ...row.cells.map((text, at) => cell("td", text, at)));
    if (row.place) linkRow(made, row.place);
    return made;
  });
  const head = el("tr", {}, ...titles.map((text, at) => cell("th", text, at)));
  return el("table", {}, el("thead", {}, head), el("tbody", {}, ...body));
}

/** Make an element select a line: by mouse and by keyboard. */
function linkRow(element, place) {
  element.classList.add("link");
  element.tabIndex = 0;
  element.addEventListener("click", () => toggle(place));
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(place); }
  });
  marked(element, [...linesOf(place).values()]);
}

/** Mark an element whenever one of its places is selected. */
function marked(element, places) {
  const update = () => element.classList.toggle("hit", isSelected(places));
  selection.listeners.push(update);
  update();
}

function legend(rows) {
  return el("div", { class: "legend" }, ...rows.map(([text, fill]) => {
    const box = el("i");
    box.style.background = fill;
    return el("span", {}, box, text);
  }));
}

function choice(label, options, chosen, change) {
  const rows = options.map(([value, text]) => el("option", { value, selected: String(value) === String(chosen) }, text));
  const made = el("select", { change: () => change(made.value) }, ...rows);
  return el("label", {}, label, made);
}

/** Text with `%12` as spans, so that uses of a value can be marked together. */
function irText(text, changed = null) {
  const [from, to] = changed ?? [Infinity, -1];
  const parts = text.match(/%\d+|[\w.]+|\s+|./g) ?? [];
  const made = el("span", { class: "text" });
  let run = "";
  const flush = () => { if (run) made.append(run); run = ""; };
  parts.forEach((part, at) => {
    const inside = at >= from && at < to && part.trim();
    if (!part.startsWith("%") && !inside) { run += part; return; }
    flush();
    const span = part.startsWith("%") ? el("span", { class: "v", "data-v": part }, part) : part;
    made.append(inside ? el("mark", {}, span) : span);
  });
  flush();
  return made;
}

/** Values that the pointer is on are marked wherever they stand in `root`. */
function markValues(root) {
  root.addEventListener("mouseover", (event) => {
    const name = event.target.dataset?.v;
    for (const each of root.querySelectorAll(".v.same")) each.classList.remove("same");
    if (name) for (const each of root.querySelectorAll(`.v[data-v="${name}"]`)) each.classList.add("same");
  });
}
