// The frame: head, tabs, theme, keys, the address.

const panels = new Map();

function currentView() {
  return [...panels].find(([, { tab }]) => tab.getAttribute("aria-selected") === "true")?.[0] ?? "summary";
}

function openView(id, focus = false) {
  for (const [name, { tab, panel }] of panels) {
    const chosen = name === id;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    panel.hidden = !chosen;
    if (chosen && focus) tab.focus();
  }
  const { each, panel } = panels.get(id);
  if (!panel.dataset.drawn) {
    panel.dataset.drawn = "yes";
    const note = missingNote(each.document ?? each.id);
    const failed = view.problems.some((problem) => problem.severity === "error");
    const why = failed ? "The kernel does not compile; the summary says why." : each.nothing;
    if (!each.available()) panel.append(el("p", {}, why ?? "There is nothing to show."));
    if (note) panel.append(note);
    if (each.available()) each.draw(panel);
  } else each.shown?.();
  remember();
}

function drawTabs() {
  const list = document.getElementById("tabs"), body = document.getElementById("panels");
  for (const each of views) {
    const hits = el("span", { class: "hits" });
    const tab = el("button", {
      role: "tab", id: `tab-${each.id}`, "aria-controls": `panel-${each.id}`, "aria-selected": "false",
      class: each.available() ? null : "empty", click: () => openView(each.id),
    }, each.title, hits);
    const panel = el("div", { role: "tabpanel", id: `panel-${each.id}`, "aria-labelledby": `tab-${each.id}`, class: each.full ? "full" : null, hidden: true });
    panels.set(each.id, { each, tab, panel });
    list.append(tab);
    body.append(panel);
    selection.listeners.push(() => {
      const count = selection.place && each.hits && each.available() ? each.hits() : 0;
      hits.textContent = count ? number(count) : "";
      hits.title = count ? `${count} come from the selected line` : "";
    });
  }
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = [...panels.keys()];
    openView(names[(names.indexOf(currentView()) + step + names.length) % names.length], true);
  });
}

function drawHead() {
  const theme = el("button", { click: () => {
    const dark = document.documentElement.dataset.theme === "dark" ||
      (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    themeChanged();
  } }, "light / dark");
  const sizes = Object.entries(view.shape).map(([name, size]) => el("span", { class: "chip mono" }, `${name}=${size}`));
  document.getElementById("head").append(
    el("h1", {}, view.kernel), el("span", { class: "chip" }, view.target), ...sizes, el("span", { class: "grow" }),
    el("span", { class: "dim" }, "↑↓ in the source, Esc: nothing"), theme);
}

const redraws = [];
function themeChanged() { for (const redraw of redraws) redraw(); }
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
addEventListener("resize", themeChanged);

function drawDivider() {
  const divider = document.getElementById("divider"), source = document.getElementById("source");
  const widen = (width) => { source.style.width = `${Math.max(180, Math.min(width, innerWidth - 320))}px`; themeChanged(); };
  divider.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    divider.setPointerCapture(event.pointerId);
    const move = (at) => widen(at.clientX);
    divider.addEventListener("pointermove", move);
    divider.addEventListener("pointerup", () => divider.removeEventListener("pointermove", move), { once: true });
  });
  divider.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 30, ArrowLeft: -30 }[event.key];
    if (step) widen(source.getBoundingClientRect().width + step);
  });
}

drawHead();
const settleSource = drawSource();
drawTabs();
drawDivider();
/** Open the view and select the line that the address names. */
function followAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const line = (asked.get("line") ?? "").split(":").map(Number);
  const known = line.length === 2 && view.sources[line[0]]?.lines[line[1] - 1] !== undefined;
  openView(panels.has(asked.get("view")) ? asked.get("view") : "summary");
  select(known ? line : null);
}

followAddress();
addEventListener("hashchange", followAddress);
settleSource();
addEventListener("keydown", (event) => { if (event.key === "Escape") select(null); });
document.documentElement.dataset.ready = "yes";
