import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { atOnce } from "./at-once.ts";
import { Bench, type Ran, type Scenario, scenarios } from "./bench.ts";
import { agentCases } from "./cases/agents.ts";
import type { ClientCase } from "./cases/case.ts";
import { cliCases } from "./cases/clis.ts";
import { editorCases } from "./cases/editors.ts";
import { sdkCases } from "./cases/sdks.ts";
import { drive, type Outcome } from "./check.ts";
import { driveFailures, isAsKnown } from "./failures/drive.ts";
import { type FailureName, failureNames, usualFailures } from "./failures/failure.ts";
import { failureTable } from "./failures/failure-table.ts";
import { installClients, versionOf } from "./install.ts";
import { aiSdkJourneys } from "./journeys/ai-sdk.ts";
import { claudeJourneys } from "./journeys/claude.ts";
import type { Journey } from "./journeys/journey.ts";
import { plantedJourneys } from "./journeys/planted.ts";
import { pluginJourneys } from "./journeys/plugin.ts";
import { setupJourneys } from "./journeys/setup.ts";
import type { Recorded } from "./recorder.ts";
import { agentSessions } from "./sessions/agents.ts";
import { cliSessions } from "./sessions/clis.ts";
import { driveSession, type StepResult } from "./sessions/drive.ts";
import { editorSessions } from "./sessions/editors.ts";
import { recordSession } from "./sessions/record.ts";
import { sdkSessions } from "./sessions/sdks.ts";
import type { SessionClient } from "./sessions/session.ts";
import { sessionTable } from "./sessions/session-table.ts";
import { shapeOf } from "./shape.ts";
import { hostList, type Row, sectionOf, sections, supportTable, type Travelled, withSections } from "./table.ts";

/*
 * `npm test -- programs clients [-- --only codex,pi] [--failures all] [--sessions all] [--update] [--acp] [--newest] [--each-place] [--no-journeys]`: drives real clients against a real gateway process and the stand-in
 * IDE. Without options each client is driven in one form and over one backend, the next client over the other one; `--sessions all`, `--only`
 * and `--update` drive every cell. `--update` writes docs/clients.md and the shapes of their requests under test/corpus/requests/. What
 * was not driven keeps its rows and cells, so the tables can be measured client by client; with `--only` the set-up is not written.
 */
const root = join(import.meta.dirname, "../..");
const args = process.argv.slice(2);
const only = args.includes("--only") ? args[args.indexOf("--only") + 1]?.toLowerCase().split(",") : undefined;
const update = args.includes("--update");
/** Every client over the stand-in's agent program: `--acp` puts all scenarios there; without it, the plain one goes there too. */
const acp = args.includes("--acp");
const verbose = args.includes("--verbose");
/** `usual` (by default), `all`, `none`, or names. */
const wantedFailures = args.includes("--failures") ? (args[args.indexOf("--failures") + 1] ?? "usual") : "usual";
/** Nothing but the failures. */
const onlyFailures = args.includes("--only-failures");
/** `usual` (by default), `all`, `none`; nothing but the sessions. */
const wantedSessions = args.includes("--sessions") ? (args[args.indexOf("--sessions") + 1] ?? "usual") : "usual";
const onlySessions = args.includes("--only-sessions");
/** Another host is named in each place alone, too. */
const eachPlace = args.includes("--each-place");

/** Every form of a client, over both backends. */
const everyCell = only !== undefined || update || wantedSessions === "all";

const clients = await installClients({ newest: args.includes("--newest") });
const allSessions = [...cliSessions, ...editorSessions, ...agentSessions, ...sdkSessions];
const allCases = [...cliCases, ...editorCases, ...agentCases, ...sdkCases];
const cases = allCases.filter(
  ({ name, surface, slow, packageName }, at) =>
    isWanted(`${name} ${surface}`) &&
    (slow !== true || only !== undefined || wantedFailures === "all") &&
    (everyCell || allCases.findIndex((other) => other.packageName === packageName) === at),
);
const sessionClients = wantedSessions === "none" || onlyFailures ? [] : allSessions.filter(isDriven);
const inSessions = new Set(everyCell ? [] : sessionClients.map(({ packageName }) => packageName));
const suites = cases.filter(({ packageName }) => !inSessions.has(packageName));
/** The backends of the client at this place of a list: whether each is the agent program. */
const waysOf = (at: number) => (acp ? [true] : everyCell ? [false, true] : [at % 2 === 1]);
/** Most of a client's time is its start and, after a failure, waiting; alone where the times are written down. */
const [suitesAtOnce, failuresAtOnce] = update ? [2, 1] : [2, 3];
const driven = await atOnce(
  [...(onlyFailures || onlySessions ? [] : suites).entries()],
  suitesAtOnce,
  async ([at, client]) => {
    const [way = acp, other] = waysOf(at);
    return {
      row: { client, version: versionOf(clients, client.packageName), outcomes: await suite(client, way) },
      overAgent: other === undefined ? undefined : await plainOverAgent(client),
    };
  },
);
const rows: readonly Row[] = driven.map(({ row }) => row);
const journeys =
  acp || onlyFailures || onlySessions || args.includes("--no-journeys")
    ? []
    : [
        ...pluginJourneys,
        ...aiSdkJourneys,
        ...claudeJourneys,
        ...setupJourneys,
        ...plantedJourneys(eachPlace ? "each" : everyCell ? "together" : "some"),
      ];
const travelled: readonly Travelled[] = await atOnce(
  journeys.filter(({ client, sentence }) => isWanted(`${client} ${sentence}`)),
  suitesAtOnce,
  async (journey) => ({ journey, version: versionOf(clients, journey.packageName), failure: await travel(journey) }),
);
const sessionReports = await atOnce(
  sessionClients.flatMap((client, at) => waysOf(at).map((way) => ({ client, acp: way }))),
  suitesAtOnce,
  async ({ client, acp: way }) => ({
    ...(await driveSession(clients, client, { acp: way, tell: (step, result) => tellStep(client, way, step, result) })),
    way: way ? ("ACP" as const) : ("Cascade" as const),
  }),
);
let failuresHold = true;
const failureRows = await driveFailures(
  clients,
  acp || onlySessions ? [] : cases,
  failuresOf,
  failuresAtOnce,
  (client, failure, verdict) => {
    const { observed, wrong } = verdict;
    const known = isAsKnown(client, failure, verdict);
    failuresHold &&= known;
    const mark = known ? (wrong === undefined ? "ok" : "known") : "FAILED";
    const took = (ms: number | undefined) => (ms === undefined ? "never" : `${(ms / 1000).toFixed(1)} s`);
    process.stderr.write(
      `${mark.padEnd(7)} ${client.name} (${client.surface}) after ${failure.name}: ${observed.requests} requests [${observed.statuses.map((status, at) => `${status ?? "none"} ${span(observed.spans[at])}`).join(", ")}], ${observed.prompts} prompts, message ${took(observed.messageAfterMs)}, end ${took(observed.endedAfterMs)}, ${observed.userAgent} ${wrong ?? ""}\n`,
    );
    if (verbose || !known) show(observed.ran);
  },
);
const isWhole = only === undefined && !acp;
const page = join(root, "docs/clients.md");
const written = readFileSync(page, "utf8");
const earlier = (name: string) => sectionOf(written, name);
const measured = join(import.meta.dirname, "failures/measured.txt");
const before = readFileSync(measured, "utf8");
const failureText = failureTable(allCases, failureRows, (name) => versionOf(clients, name), before);
const supported = supportTable(allCases, rows, new Date().toISOString().slice(0, 10), earlier("clients"));
if (update)
  for (const report of sessionReports.filter(({ way }) => way === "Cascade"))
    recordSession(join(root, "test/corpus/sessions"), report, versionOf(clients, report.client.packageName));
const sessionText = sessionTable(allSessions, sessionReports, {
  versionOf: (name) => versionOf(clients, name),
  date: new Date().toISOString().slice(0, 10),
  earlier: earlier("sessions"),
});
const parts = {
  ...sections(supported, travelled),
  sessions: sessionText,
  "other hosts": hostList(travelled, new Date().toISOString().slice(0, 10), earlier("other hosts")),
};
process.stdout.write(`\n${[...Object.values(parts), failureText].join("\n\n")}\n`);
if (update && !acp && failureRows.length > 0) writeFileSync(measured, `${failureText}\n`);
if (update && !acp)
  writeFileSync(
    page,
    withSections(written, isWhole ? parts : { ...parts, "set-up": sectionOf(written, "set-up").trim() }),
  );
const failed =
  rows.some(({ outcomes }) => Object.values(outcomes).some(({ type }) => type === "failed")) ||
  driven.some(({ overAgent }) => overAgent?.type === "failed") ||
  travelled.some(({ failure }) => failure !== undefined) ||
  sessionReports.some(({ steps }) => [...steps.values()].some(({ type }) => type === "failed")) ||
  !failuresHold;
process.exitCode = failed ? 1 : 0;

/** One answer through the agent program, on a bench of its own. */
async function plainOverAgent(client: ClientCase): Promise<Outcome> {
  const bench = await Bench.open(clients, { acp: true });
  try {
    const outcome = await drive(client, "plain", bench);
    report(client, "plain", outcome, "over ACP");
    return outcome;
  } finally {
    await bench.close();
  }
}

/** What does not hold of a journey; undefined when all does. */
async function travel(journey: Journey): Promise<string | undefined> {
  const startedAt = performance.now();
  const bench = await Bench.open(clients, journey.bench);
  let failure: string | undefined;
  try {
    await journey.run(bench);
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  } finally {
    await bench.close();
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const mark = failure === undefined ? "ok" : "FAILED";
  process.stderr.write(`${mark.padEnd(7)} ${journey.client}: ${journey.sentence} ${seconds} s ${failure ?? ""}\n`);
  return failure;
}

async function suite(client: ClientCase, way: boolean): Promise<Readonly<Record<Scenario, Outcome>>> {
  const bench = await Bench.open(clients, { acp: way });
  const outcomes: [Scenario, Outcome][] = [];
  try {
    for (const scenario of scenarios) {
      const first = bench.recorder.requests.length;
      const outcome = await drive(client, scenario, bench);
      outcomes.push([scenario, outcome]);
      report(client, scenario, outcome, way ? "over ACP" : "");
      if (update && !acp)
        keepShapes(client, scenario, bench.recorder.requests.slice(first).filter(isHttp).map(shapeOf));
    }
  } finally {
    await bench.close();
  }
  return Object.fromEntries(outcomes) as Record<Scenario, Outcome>; // one a scenario
}

/** What goes over a WebSocket has no shape of its own. */
function isHttp({ headers }: Recorded): boolean {
  return headers["upgrade"] === undefined;
}

function span(at: { readonly fromMs: number; readonly toMs: number } | undefined): string {
  return at === undefined ? "" : `at ${(at.fromMs / 1000).toFixed(1)}-${(at.toMs / 1000).toFixed(1)} s`;
}

function report({ name, surface }: ClientCase, scenario: Scenario, outcome: Outcome, way = ""): void {
  const mark = { passed: "ok", failed: "FAILED", known: "known", "not possible": "-" }[outcome.type];
  process.stderr.write(
    `${mark.padEnd(7)} ${name} (${surface}) ${scenario} ${way} ${(outcome.ms / 1000).toFixed(1)} s ${outcome.note}\n`,
  );
  if (outcome.type === "failed" && outcome.ran !== undefined) show(outcome.ran);
}

function show({ code, stdout, stderr }: Ran): void {
  process.stderr.write(`--- code ${code}\n${stdout.slice(-3_000)}\n--- stderr\n${stderr.slice(-3_000)}\n`);
}

function isWanted(title: string): boolean {
  return only === undefined || only.some((part) => title.toLowerCase().includes(part));
}

function isDriven({ name, surface, rarely }: SessionClient): boolean {
  return isWanted(`${name} ${surface}`) && (rarely !== true || only !== undefined || wantedSessions === "all");
}

function tellStep({ name, surface }: SessionClient, way: boolean, step: string, result: StepResult): void {
  const mark = { passed: "ok", failed: "FAILED", known: "known", "not possible": "-" }[result.type];
  const over = way ? "over ACP" : "over Cascade";
  process.stderr.write(
    `${mark.padEnd(7)} ${name} (${surface}), session ${over}: ${step} ${(result.ms / 1000).toFixed(1)} s ${result.note}\n`,
  );
  if (result.ran !== undefined && (result.type === "failed" || verbose)) show(result.ran);
}

/** The failures of the client at this place of the list. */
function failuresOf(at: number): readonly FailureName[] {
  if (wantedFailures === "all") return failureNames;
  if (wantedFailures !== "usual") return failureNames.filter((name) => wantedFailures.split(",").includes(name));
  return everyCell ? usualFailures : usualFailures.slice(at % usualFailures.length).slice(0, 1);
}

/** One file a client and scenario: the requests in their order. Only forms that carry a prompt are of interest. */
function keepShapes({ name, surface }: ClientCase, scenario: Scenario, shapes: readonly unknown[]): void {
  if (shapes.length === 0 || scenario === "cancel" || scenario === "error") return;
  const folder = join(root, "test/corpus/requests");
  mkdirSync(folder, { recursive: true });
  const file = `${name} ${surface} ${scenario}`.toLowerCase().replace(/[^a-z]+/g, "-");
  writeFileSync(join(folder, `${file}.json`), `${JSON.stringify(shapes.slice(0, 4), null, 1)}\n`);
}
