// Cycles by line of the author's, from the timeline of the emulator.

const UNITS = {
  mfma: ["matrix unit", "--c4"], valu: ["vector unit", "--c1"], salu: ["scalar unit", "--c2"], lds: ["LDS", "--c3"],
  vmem: ["global memory", "--c5"], smem: ["scalar memory", "--c7"], sync: ["waits and barriers", "--c8"], branch: ["branches", "--c6"],
};

const timeline = view.documents.cycles?.timeline ?? null;

/** For each line: cycles of all waves at work and waiting, the latter by reason. */
const lineCosts = new Map();
for (const [, instruction, start, end, stall, reason] of timeline?.events ?? []) {
  const made = timeline.instructions[instruction];
  const place = placeOf(made.source);
  const key = place ? keyOf(place) : "?";
  if (!lineCosts.has(key)) lineCosts.set(key, { place, work: 0, wait: 0, reasons: {}, executed: 0 });
  const cost = lineCosts.get(key);
  cost.work += end - start;
  cost.wait += stall;
  cost.executed += 1;
  if (stall) cost.reasons[timeline.reasons[reason]] = (cost.reasons[timeline.reasons[reason]] ?? 0) + stall;
}
const allCosts = [...lineCosts.values()].reduce((sum, cost) => sum + cost.work + cost.wait, 0);
for (const cost of lineCosts.values()) cost.share = (cost.work + cost.wait) / (allCosts || 1);
