// Machine code by line of the author's.

views.push({
  id: "code", title: "Machine code", full: true,
  nothing: "There is no machine code.",
  available: () => view.code !== null,
  hits: () => view.code.lines.filter((line) => line.place && isSelected([...linesOf(line.place).values()])).length,
  draw(root) {
    const inner = el("div", { class: "inner" });
    const code = el("div", { class: "code", tabindex: 0, role: "region", "aria-label": "Machine code" }, inner);
    let last = "";
    const rows = view.code.lines.map((line, at) => {
      const name = line.place ? placeName(line.place) : "";
      const made = el("div", { class: "row" },
        el("span", { class: "no", title: name }, line.place && name !== last ? String(line.place[1]) : ""),
        view.executed.length ? heatOf(instructionCosts.get(view.executed[at])) : null,
        el("span", { class: line.instruction ? "text" : "text dim" }, line.text));
      last = line.instruction ? name : last;
      const from = line.place ? [...linesOf(line.place).values()] : [];
      if (from.length) {
        made.classList.add("link");
        made.addEventListener("click", () => toggle(line.place));
      }
      return { made, from };
    });
    inner.append(...rows.map((row) => row.made));
    const mark = () => {
      let first = null;
      for (const { made, from } of rows) {
        made.classList.toggle("hit", isSelected(from));
        if (!first && made.classList.contains("hit")) first = made;
      }
      if (first) intoView(code, first);
    };
    const instructions = view.code.lines.filter((line) => line.instruction).length;
    root.append(
      el("div", { class: "bar" },
        el("span", { class: "dim" }, `${view.code.form} for ${view.target}: ${number(instructions)} instructions; ` +
          (view.executed.length ? "beside each the line of the source and its share of the cycles" : "numbers are lines of the source"))),
      code);
    selection.listeners.push(mark);
    mark();
  },
});
