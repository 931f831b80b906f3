// The author's files, beside every view.

const WORDS = new Set(("and as assert async await break class continue def del elif else except False finally for from " +
  "global if import in is lambda None nonlocal not or pass raise return True try while with yield").split(" "));

const TOKENS = /#.*|[rbfRBF]{0,2}(?:"""|''')|[rbfRBF]{0,2}"(?:\\.|[^"\\])*"?|[rbfRBF]{0,2}'(?:\\.|[^'\\])*'?|\w+|\s+|./g;

/**
 * Lines of Python with words, strings, numbers and comments told apart. The quotes of a
 * text that goes on over lines are kept from line to line.
 */
function pythonLines(lines) {
  let quotes = null;
  return lines.map((line) => {
    const made = el("span", { class: "text" });
    const add = (text, kind) => { if (text) made.append(kind ? el("span", { class: kind }, text) : text); };
    let rest = line;
    while (rest) {
      if (quotes) {
        const end = rest.indexOf(quotes);
        const cut = end < 0 ? rest.length : end + 3;
        add(rest.slice(0, cut), "s");
        rest = rest.slice(cut);
        if (end >= 0) quotes = null;
        continue;
      }
      TOKENS.lastIndex = 0;
      const token = TOKENS.exec(rest)[0];
      if (/^\w{0,2}("""|''')$/.test(token)) quotes = token.slice(-3);
      add(token, token.startsWith("#") ? "c" : /["']/.test(token) ? "s" : /^\d/.test(token) ? "n" : WORDS.has(token) ? "k" : "");
      rest = rest.slice(token.length);
    }
    return made;
  });
}

function drawSource() {
  const root = document.getElementById("source");
  const inner = el("div", { class: "inner" });
  const list = el("div", { class: "code", role: "listbox", "aria-label": "Lines of the source", tabindex: 0 }, inner);
  const shown = { file: 0, rows: [] };
  const faults = new Map();
  for (const each of view.problems) if (each.place) faults.set(keyOf(each.place), each.text);

  const row = (line, shownText) => {
    const place = [shown.file, line];
    const cost = lineCosts.get(keyOf(place));
    const fault = faults.get(keyOf(place));
    const made = el("div", {
      class: `row${linkable.has(keyOf(place)) ? " link" : ""}${fault ? " fault" : ""}`, role: "option", id: `line-${line}`,
      "aria-selected": "false", title: fault ?? null, click: () => toggle(place),
    }, el("span", { class: "no" }, String(line)), lineCosts.size ? heatOf(cost) : null, shownText);
    return made;
  };

  const show = (file) => {
    shown.file = file;
    shown.rows = pythonLines(view.sources[file].lines).map((text, at) => row(at + 1, text));
    inner.replaceChildren(...shown.rows);
    picker.value = String(file);
    mark(selection.place, false);
  };

  const mark = (place, scroll = true) => {
    if (place && place[0] !== shown.file) { show(place[0]); }
    shown.rows.forEach((each) => { each.classList.remove("hit"); each.setAttribute("aria-selected", "false"); });
    list.removeAttribute("aria-activedescendant");
    const found = place ? shown.rows[place[1] - 1] : null;
    if (!found) return;
    found.classList.add("hit");
    found.setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", found.id);
    if (scroll) intoView(list, found);
  };

  const picker = el("select", { "aria-label": "File", change: () => show(Number(picker.value)) },
    ...view.sources.map((source, at) => el("option", { value: at }, baseName(source.file))));
  const hint = el("span", { class: "dim" }, lineCosts.size ? "share of cycles beside each line" : "click a line that has code");
  root.append(el("div", { class: "toolbar" }, picker, hint), list);
  list.addEventListener("keydown", (event) => moveLine(event, shown));
  selection.listeners.push((place) => mark(place));
  if (view.sources.length) show(0);
  return () => {
    const first = shown.rows.findIndex((each) => each.classList.contains("link"));
    const fault = shown.rows.find((each) => each.classList.contains("fault"));
    const target = fault ?? shown.rows[first];
    if (target && !selection.place) list.scrollTop = Math.max(0, target.offsetTop - 120);
  };
}

/** Arrow keys go to the next line that something comes from; Escape selects nothing. */
function moveLine(event, shown) {
  if (event.key === "Escape") { select(null); return; }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const chosen = selection.place && selection.place[0] === shown.file ? selection.place[1] : 0;
  for (let line = chosen + step; line >= 1 && line <= shown.rows.length; line += step)
    if (linkable.has(`${shown.file}:${line}`)) { select([shown.file, line]); return; }
}

/** Scroll `box` so far that `item` is in its middle, where it is not in sight. */
function intoView(box, item) {
  const outer = box.getBoundingClientRect(), inner = item.getBoundingClientRect();
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    box.scrollTop += inner.top - outer.top - outer.height / 3;
}

/** The lines that something comes from. */
const linkable = new Set();
for (const places of view.place_lists) for (const place of places) linkable.add(keyOf(place));
for (const line of view.code?.lines ?? [])
  if (line.place) for (const key of linesOf(line.place).keys()) linkable.add(key);
