// Cycles by line of the author's, from the timeline of the emulator.

const UNITS = {
  mfma: ["matrix unit", "--c4"], valu: ["vector unit", "--c1"], salu: ["scalar unit", "--c2"], lds: ["LDS", "--c3"],
  vmem: ["global memory", "--c5"], smem: ["scalar memory", "--c7"], sync: ["waits and barriers", "--c8"], branch: ["branches", "--c6"],
};

const timeline = view.documents.cycles?.timeline ?? null;

/**
 * The time of waves: rows of `[instruction, at work, waiting, reason]`. A wave is at work
 * on an instruction until it begins with the next, or begins to wait for that.
 */
const waveTimes = [];
{
  const open = new Map();
  for (const [wave, instruction, start, end, stall, reason] of timeline?.events ?? []) {
    const before = open.get(wave);
    if (before) before[1] = Math.max(0, start - stall - before[4]);
    const row = [instruction, end - start, stall, reason, start];
    open.set(wave, row);
    waveTimes.push(row);
  }
}

const noCost = (place) => ({ place, work: 0, wait: 0, reasons: {}, executed: 0 });

/** Sums of times by a key of instructions. */
function costsBy(keyOfInstruction) {
  const found = new Map();
  for (const [instruction, work, wait, reason] of waveTimes) {
    const [key, place] = keyOfInstruction(instruction);
    if (!found.has(key)) found.set(key, noCost(place));
    const cost = found.get(key), name = timeline.reasons[reason];
    cost.work += work;
    cost.wait += wait;
    cost.executed += 1;
    if (wait) cost.reasons[name] = (cost.reasons[name] ?? 0) + wait;
  }
  const all = [...found.values()].reduce((sum, cost) => sum + cost.work + cost.wait, 0);
  for (const cost of found.values()) cost.share = (cost.work + cost.wait) / (all || 1);
  return found;
}

/** The author's line of each instruction: by the line of code that it is, else by debug information. */
const instructionPlaces = (timeline?.instructions ?? []).map((made) => placeOf(made.source));
view.executed.forEach((instruction, at) => {
  if (instruction >= 0) instructionPlaces[instruction] = view.code.lines[at].place;
});

const lineCosts = costsBy((instruction) => {
  const place = instructionPlaces[instruction];
  return [place ? keyOf(place) : "?", place];
});
const instructionCosts = costsBy((instruction) => [instruction, null]);

const REASONS = { hbm: "memory (HBM)", l1: "L1", l2: "L2", wait: "results in flight", barrier: "waves at a barrier", issue: "the issue slot" };

/** What was waited for, the longest first. */
const reasonText = (cost) => Object.entries(cost.reasons).sort((one, two) => two[1] - one[1]).slice(0, 3)
  .map(([reason, cycles]) => `${REASONS[reason] ?? UNITS[reason]?.[0] ?? reason} ${percent(cycles / (cost.wait || 1))}`).join(", ");

const costTip = (cost) => `${percent(cost.share)} of the cycles of all waves: ${number(cost.work)} at work, ${number(cost.wait)} waiting` +
  (cost.wait ? ` for ${reasonText(cost)}` : "") + `; executed ${number(cost.executed)} times`;

/** A bar and a number beside a line, as much as its share of the cycles. */
function heatOf(cost) {
  const heat = el("span", { class: "heat" });
  if (!cost) return heat;
  const box = el("i");
  box.style.width = `${100 * cost.share}%`;
  heat.append(box, el("b", {}, cost.share < 0.0005 ? "·" : percent(cost.share)));
  heat.title = costTip(cost);
  return heat;
}
