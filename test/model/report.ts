import { type Hazard, search, type Verdict } from "./search.ts";
import { allFixes, type Faults, type Fixes } from "./state.ts";

/** How often each thing may go wrong in one history. */
export const faults: Faults = {
  cuts: 2,
  clientCrashes: 1,
  serverCrashes: 1,
  expiries: 1,
  secondWindows: 1,
  aborts: 1,
};

/** Which hazard each fix closes. */
export const closes: Readonly<Record<keyof Fixes, Hazard>> = {
  cursorWaitsForWork: "H1",
  writeAhead: "H2",
  numberedAbort: "H3",
  ackMeansDurable: "H4",
  explicitIntent: "H6",
  attachEpochs: "H7",
};

/** The algorithm as published, with none of the fixes. */
export const published: Fixes = {
  cursorWaitsForWork: false,
  writeAhead: false,
  numberedAbort: false,
  ackMeansDurable: false,
  explicitIntent: false,
  attachEpochs: false,
};

/** What the published algorithm shows. */
const hazards = ["H1", "H2", "H3", "H4", "H6", "H7"] as const;

/** What may go wrong so that a hazard of the published algorithm shows; few faults keep the search small. */
const provoke: Readonly<Record<(typeof hazards)[number], Partial<Faults>>> = {
  H1: { clientCrashes: 1 },
  H2: { clientCrashes: 1 },
  H3: { cuts: 1, aborts: 1 },
  H4: { serverCrashes: 1 },
  H6: { cuts: 1, expiries: 1 },
  H7: { clientCrashes: 1, secondWindows: 1 },
};

const none: Faults = {
  cuts: 0,
  clientCrashes: 0,
  serverCrashes: 0,
  expiries: 0,
  secondWindows: 0,
  aborts: 0,
};

export interface Report {
  readonly ours: Verdict;
  readonly publishedOnes: ReadonlyMap<Hazard, Verdict>;
  readonly without: ReadonlyMap<keyof Fixes, Verdict>;
}

/** Runs every search that the page reports. */
export function runAll(): Report {
  const names = Object.keys(closes) as (keyof Fixes)[]; // the record above has exactly these
  return {
    ours: search(allFixes, faults),
    publishedOnes: new Map(
      hazards.map((hazard) => [hazard, search(published, { ...none, ...provoke[hazard] }, [hazard])]),
    ),
    without: new Map(names.map((name) => [name, search({ ...allFixes, [name]: false }, faults, [closes[name]])])),
  };
}

/** The report as it stands in docs/stream-protocol.md; `npm test -- search model` fails where the page differs. */
export function toMarkdown(report: Report): string {
  const each = [...report.without].map(([name, verdict]) => {
    const hazard = closes[name];
    return `${hazard} ${stepsTo(hazard, report.publishedOnes.get(hazard))}, ${stepsTo(hazard, verdict)}`;
  });
  const { explored, found } = report.ours;
  return `With every fix: ${explored.toLocaleString("en")} states explored, ${found.length} violations. Steps to a hazard as published, and without its fix alone: ${each.join("; ")}.`;
}

function stepsTo(hazard: Hazard, verdict: Verdict | undefined): string {
  const example = verdict?.found.find((one) => one.hazard === hazard);
  return example === undefined ? "not found" : `${example.trace.length}`;
}
