// The IR after each pass that changed it, and what changed.

const sameText = (text) => text.trim().replace(/%\d+/g, "%");

/** What is new, changed and gone in a stage, by the keys of its ops. */
function difference(stage, before) {
  const now = new Map(), then = new Map();
  for (const [text, key] of stage.lines) if (key >= 0) now.set(key, text);
  for (const [text, key] of before?.lines ?? []) if (key >= 0) then.set(key, text);
  const heads = new Set((before?.lines ?? []).filter((line) => line[1] < 0).map((line) => view.texts[line[0]]));
  const kinds = stage.lines.map(([text, key]) => {
    if (!before) return "";
    if (key < 0) return heads.has(view.texts[text]) || !/\w/.test(view.texts[text]) ? "" : "new";
    if (!then.has(key)) return "new";
    return text === then.get(key) || sameText(view.texts[text]) === sameText(view.texts[then.get(key)]) ? "" : "changed";
  });
  // What is gone stands before the next op that stayed.
  const gone = new Map();
  let waiting = [];
  for (const line of before?.lines ?? []) {
    if (line[1] < 0) continue;
    if (!now.has(line[1])) waiting.push(line);
    else if (waiting.length) { gone.set(line[1], waiting); waiting = []; }
  }
  gone.set("end", waiting);
  return { kinds, then, gone };
}

/** Which words of a text are not those of another one: the first and one past the last. */
function changedWords(text, old) {
  const cut = (line) => line.match(/%\d+|[\w.]+|\s+|./g) ?? [];
  const same = (one, two) => one === two || (one?.[0] === "%" && two?.[0] === "%");
  const now = cut(text), then = cut(old);
  let first = 0, last = 0;
  while (first < now.length && first < then.length && same(now[first], then[first])) first += 1;
  while (last < now.length - first && last < then.length - first && same(now.at(-1 - last), then.at(-1 - last))) last += 1;
  return [first, now.length - last];
}

/** A line without what analyses know about its op: ` @placement(...)`, ` @access(...)`. */
function withoutFacts(text) {
  let found = text;
  for (let at = found.search(/ @\w+\(/); at >= 0; at = found.search(/ @\w+\(/)) {
    let depth = 0, end = found.indexOf("(", at);
    do {
      depth += { "(": 1, ")": -1 }[found[end]] ?? 0;
      end += 1;
    } while (depth && end < found.length);
    found = found.slice(0, at) + found.slice(end);
  }
  return found;
}

views.push({
  id: "ir", title: "IR", full: true,
  available: () => view.stages.length > 0,
  hits: () => {
    const stage = view.stages.at(-1);
    return stage ? stage.lines.filter((line) => isSelected(view.place_lists[line[2]])).length : 0;
  },
  draw(root) {
    const state = { at: 0, only: false, facts: true, lines: [] };
    const inner = el("div", { class: "inner" });
    const code = el("div", { class: "code", tabindex: 0, role: "region", "aria-label": "IR" }, inner);
    const about = el("span", { class: "dim" });
    const buttons = [];
    const nav = el("nav", { "aria-label": "Passes" });
    const differences = view.stages.map((stage, at) => difference(stage, view.stages[at - 1]));

    const lineOf = ([text, , places], kind, old) => {
      const shown = (words_) => (state.facts ? words_ : withoutFacts(words_));
      const words = shown(view.texts[text]);
      const sign = { new: "+", gone: "−", changed: "~" }[kind] ?? "";
      const body = irText(words, old === undefined ? null : changedWords(words, shown(old)));
      const made = el("div", { class: `row ${kind}`, title: old === undefined ? null : `before: ${old.trim()}` },
        el("span", { class: "sign" }, sign), body);
      const from = view.place_lists[places];
      if (from.length) {
        made.classList.add("link");
        made.addEventListener("click", () => toggle(from[0]));
        made.firstChild.title = from.map(placeName).join(" < ");
      }
      return { made, from, kind };
    };

    const show = (at) => {
      state.at = at;
      const stage = view.stages[at], { kinds, then, gone } = differences[at];
      const rows = [];
      stage.lines.forEach((line, index) => {
        for (const old of gone.get(line[1]) ?? []) rows.push(lineOf(old, "gone"));
        const kind = kinds[index];
        rows.push(lineOf(line, kind, kind === "changed" ? view.texts[then.get(line[1])] : undefined));
      });
      for (const old of gone.get("end")) rows.push(lineOf(old, "gone"));
      state.lines = rows;
      buttons.forEach((button, index) => button.setAttribute("aria-current", String(index === at)));
      about.textContent = `${stage.summary} · ${stage.provider} · ${number(stage.milliseconds, 1)} ms`;
      fill();
    };

    const fill = () => {
      const parts = [];
      let hidden = 0;
      const fold = () => { if (hidden) parts.push(el("div", { class: "fold" }, `${hidden} lines as before`)); hidden = 0; };
      for (const row of state.lines) {
        if (state.only && !row.kind && !isSelected(row.from)) { hidden += 1; continue; }
        fold();
        parts.push(row.made);
      }
      fold();
      inner.replaceChildren(...parts);
      mark(true);
    };

    const mark = (scroll) => {
      let first = null;
      for (const row of state.lines) {
        const hit = isSelected(row.from);
        row.made.classList.toggle("hit", hit);
        if (hit && !first && row.made.isConnected) first = row.made;
      }
      if (first && scroll) intoView(code, first);
      buttons.forEach((button, at) => {
        const hits = view.stages[at].lines.filter((line) => isSelected(view.place_lists[line[2]])).length;
        button.lastChild.textContent = selection.place ? `${hits} of ${view.stages[at].lines.length}` : countText(at);
      });
    };

    const countText = (at) => {
      const { kinds, gone } = differences[at];
      if (!at) return `${view.stages[0].lines.length} lines`;
      const count = (kind) => kinds.filter((each) => each === kind).length;
      const lost = [...gone.values()].reduce((sum, rows) => sum + rows.length, 0);
      return `+${count("new")} −${lost} ~${count("changed")}`;
    };

    let phase = "";
    view.stages.forEach((stage, at) => {
      if (stage.phase !== phase) nav.append(el("div", { class: "phase" }, stage.phase));
      phase = stage.phase;
      const button = el("button", { click: () => show(at), title: stage.summary },
        el("span", {}, stage.name), el("span", { class: "count" }, countText(at)));
      buttons.push(button);
      nav.append(button);
    });
    nav.addEventListener("keydown", (event) => {
      const to = state.at + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0);
      if (to === state.at || !buttons[to]) return;
      event.preventDefault();
      show(to);
      buttons[to].focus();
    });

    const only = el("input", { type: "checkbox", change: () => { state.only = only.checked; fill(); } });
    const facts = el("input", { type: "checkbox", checked: true, change: () => { state.facts = facts.checked; show(state.at); } });
    const wrap = el("input", { type: "checkbox", change: () => code.classList.toggle("wrap", wrap.checked) });
    root.append(
      el("div", { class: "bar" }, about, el("label", {}, only, "changes only"),
        el("label", {}, facts, "layouts and addresses"), el("label", {}, wrap, "wrap"),
        el("span", { class: "dim" }, "+ new  − gone  ~ changed; names of values do not count")),
      el("div", { class: "split" }, nav, code));
    markValues(code);
    selection.listeners.push(() => (state.only ? fill() : mark(true)));
    show(view.stages.length - 1);
  },
});
