import { delimiter } from "node:path";
import { fileProblem } from "../../base/node/file-problem.ts";
import { appFolders } from "../../ide/apps/installed-apps.ts";
import type { IdeOverrides } from "../../ide/discover/overrides.ts";
import type { DiscoveryResult } from "../../ide/ide.ts";
import { openSchemas } from "../../schema/open-schemas.ts";
import type { CommandContext } from "../command.ts";
import { checkIdes, type IdeReport } from "../compose/check-ides.ts";
import { composeIdeFinder } from "../compose/compose-ide.ts";
import { composeUpstream } from "../compose/compose-upstream.ts";
import { spellEditor } from "../compose/health-details.ts";
import { bytesOf, type CascadesOnDisk, openOwnJournal, readCascades } from "../compose/own-cascades.ts";
import { type GatewayCommandOptions, overridesOf } from "../serve/gateway-options.ts";
import { chosenIde, nameWithKind } from "../serve/servers.ts";
import { type Finding, finding } from "../terminal/finding.ts";
import type { Output } from "../terminal/output.ts";
import { spellAge, spellLines } from "../terminal/spell.ts";
import { besideAgent, checkBackend, checkHosts, checkInstalled } from "./check-agents.ts";
import {
  checkGateway,
  checkKey,
  checkMachine,
  checkOtherKeys,
  checkRedis,
  checkService,
  checkStore,
} from "./check-own.ts";
import { spellConversations } from "./conversations.ts";

/** Everything the doctor found, as `--json` prints it. Stable: members are added, never renamed. Holds no secret. */
type DoctorReport = Awaited<ReturnType<typeof examine>>["report"];

/**
 * Runs every check; the worst findings first, each kind in the order of the checks. Answers the result of the discovery too.
 */
export async function examine(options: GatewayCommandOptions, context: CommandContext, more: readonly Finding[]) {
  const { io, settings, signal } = context;
  const overrides = overridesOf(io, options);
  const schemas = openSchemas();
  const finder = composeIdeFinder(io, overrides, { schemas });
  const upstream = composeUpstream({ ...options, io, finder, mayLackConfig: true });
  const nowMs = io.clock.now();
  try {
    const looked = await checkIdes(finder, schemas, { nowMs, asksPlan: true }, signal);
    const { findings: ofIdes, ides, rejected, trace } = looked;
    const found = await finder.find(signal);
    const chosen = chosenIde(found);
    const editor = chosen && spellEditor(nameWithKind(chosen), ides.find(({ pid }) => pid === chosen.pid)?.plan);
    const answering = await checkBackend(upstream.backends, upstream.agents, { ...upstream, editor }, signal);
    const { findings: ofAgents, backend, agents } = answering;
    const machine = checkMachine(nowMs);
    const places = placesOf(looked.trace, overrides, io);
    const installed = checkInstalled(found);
    const { findings: ofKey, ...key } = await checkKey(settings, io.platform);
    const hasKey = ofKey.every(({ level }) => level !== "error");
    const { findings: ofGateway, ...gateway } = await checkGateway(settings, hasKey, signal);
    const { findings: ofStore, ...store } = await (options.store === "redis"
      ? checkRedis(options.redisUrl)
      : checkStore(settings));
    const read = () => readCascades(openOwnJournal(settings), found.ides, [io.homeFolder, ...overrides.homes]);
    const { findings: ofConversations, ...conversations } = await checkConversations(read);
    // If nothing was found, the checks of the IDEs already report that.
    const said = backend.kind === "none" && ofIdes.some(({ level }) => level === "error");
    const all = [
      ...besideAgent(ofIdes, backend),
      ...(said ? ofAgents.filter(({ what }) => what !== backend.why) : ofAgents),
      ...(await checkHosts(settings.folder, io.platform)),
      ...more,
      ...ofGateway,
      ...checkService(settings.folder),
      ...ofKey,
      ...checkOtherKeys(settings),
      ...ofStore,
      ...ofConversations,
    ];
    const data = levels.flatMap((level) => all.filter((finding) => finding.level === level));
    const report = {
      data,
      machine,
      ides,
      rejected,
      looked_in: places,
      installed,
      backend,
      agents,
      gateway,
      key,
      store,
      conversations,
      trace,
    };
    return { report, found };
  } finally {
    await upstream.agents.close();
    finder.close();
  }
}

/** Where Millrace looked for an IDE and its agent, for somebody who has one elsewhere. */
function placesOf(trace: DiscoveryResult["trace"], { homes, onlyHome }: IdeOverrides, io: CommandContext["io"]) {
  const platform = io.platform === "win32" ? "windows" : io.platform === "darwin" ? "darwin" : "linux";
  const all = onlyHome === undefined ? [io.homeFolder, ...homes] : [onlyHome];
  return {
    processes: trace.find(({ rule, verdict }) => rule === "processes" && verdict === "note")?.why ?? null,
    apps: appFolders({ platform, homes: all, onlyHomes: onlyHome !== undefined, variables: io.env }),
    path: onlyHome === undefined ? (io.env["PATH"] ?? io.env["Path"] ?? "") : "",
  };
}

const levels: readonly Finding["level"][] = ["error", "warning", "note", "ok"];

const manyBytes = 500 * 1000 ** 2;

/** How much disk conversations take in the IDE's folders, ours and its own. */
async function checkConversations(read: () => Promise<CascadesOnDisk>) {
  let found: CascadesOnDisk;
  try {
    found = await read();
  } catch (error) {
    const problem = fileProblem(error);
    if (problem === undefined) throw error;
    const what = `The conversations of Millrace are not known: ${problem.message.replace(/\.$/, "")}`;
    const findings = [finding("conversations", "warning", what, problem.hint)];
    return { own_files: null, own_bytes: null, other_files: null, other_bytes: null, findings };
  }
  const { own, others } = found;
  const ownBytes = bytesOf(own);
  const what = spellConversations(found);
  const level = ownBytes > manyBytes ? "warning" : "note";
  const verdict =
    own.length === 0
      ? finding("conversations", "ok", what)
      : finding(
          "conversations",
          level,
          what,
          "`millrace doctor --conversations --delete-older 7d` deletes those older than a week.",
        );
  return {
    own_files: own.length,
    own_bytes: ownBytes,
    other_files: others.files,
    other_bytes: others.bytes,
    findings: [verdict],
  };
}

const marks: Readonly<Record<Finding["level"], readonly [mark: string, style: "red" | "yellow" | "dim" | "green"]>> = {
  error: ["✗", "red"],
  warning: ["!", "yellow"],
  note: ["·", "dim"],
  ok: ["✓", "green"],
};
const mostRejected = 12;

/** The report on one screen, `width` columns wide: the IDEs, the rejected candidates, then each finding with its next step. */
export function render(
  report: DoctorReport,
  style: Output["style"],
  width = Number.POSITIVE_INFINITY,
): readonly string[] {
  const { machine, ides, rejected } = report;
  const heading = (text: string) => style("bold", text);
  const lines = [
    heading("IDEs"),
    ...(ides.length === 0
      ? ["  none found", ...placeLines(report.looked_in, width)]
      : ides.flatMap((ide) => linesOf(ide, width))),
  ];
  lines.push(...installedLines(report.installed, heading, width));
  if (rejected.length > 0) {
    lines.push("", heading("Looked at and rejected"));
    lines.push(
      ...rejected.slice(0, mostRejected).flatMap(({ subject, why }) => spellLines(`${subject}: ${why}`, width, 2, 4)),
    );
    if (rejected.length > mostRejected) lines.push(`  and ${rejected.length - mostRejected} more; --json has all`);
  }
  const own = `Millrace ${machine.millrace}, Node ${machine.node}, ${machine.system}`;
  lines.push("", ...spellLines(own, width, 0, 2));
  lines.push("", heading("Findings"));
  for (const { level, what, todo } of report.data) {
    const [mark, colour] = marks[level];
    const [first = "", ...rest] = spellLines(what, width, 4, 4);
    lines.push(`  ${style(colour, mark)} ${first.trimStart()}`, ...rest);
    if (todo !== undefined) lines.push(...spellLines(todo, width, 6, 6));
  }
  return lines;
}

function placeLines({ processes, apps, path }: DoctorReport["looked_in"], width: number): readonly string[] {
  return [
    ...(processes === null ? [] : [`looked among the running programs: ${processes}`]),
    `looked for apps in ${apps.join(", ")}`,
    ...(path === "" ? [] : [`looked for \`devin\` in ${path.split(delimiter).join(", ")}`]),
  ].flatMap((line) => spellLines(line, width, 4, 6));
}

function installedLines(
  { apps, agents }: DoctorReport["installed"],
  heading: (text: string) => string,
  width: number,
): readonly string[] {
  const ofApps = apps.map(
    ({ product, path, running }) => `${product}, ${running ? "running" : "not running"}: ${path}`,
  );
  const ofAgents = agents.map(({ product, path, signed_in: signedIn, why }) => {
    const mark = why === null ? "" : "; this one is asked over ACP";
    return `agent of ${product}, ${signInWords[signedIn]}${mark}: ${path}`;
  });
  const lines = [
    ...(apps.length === 0 ? ["no app of the vendor found"] : ofApps),
    ...(agents.length === 0 ? ["no `devin` program found"] : ofAgents),
  ];
  return ["", heading("Installed"), ...lines.flatMap((line) => spellLines(line, width, 2, 4))];
}

const signInWords = {
  own: "signed in by itself",
  editor: "signed in by the app's key",
  no: "no account signed in",
} as const;

function linesOf(ide: IdeReport, width: number): readonly string[] {
  const who = ide.signed_in ? `signed in${ide.plan === null ? "" : `, plan ${ide.plan}`}` : "no account signed in";
  const age = ide.uptime_ms === null ? "" : `, up ${spellAge(ide.uptime_ms)}`;
  const process = ide.pid === null ? "set by hand" : `pid ${ide.pid}${age}`;
  const name = `${ide.product}${ide.stand_in ? ", a stand-in" : ""}`;
  const lines = [`${ide.endpoint}, ${ide.protocol} ${ide.tls ? "over TLS" : "without TLS"}; ${who}`];
  if (ide.capabilities !== undefined) {
    const names = Object.entries(ide.capabilities).filter(([, has]) => has === true);
    lines.push(
      `answers: ${names.map(([capability]) => capabilityWords[capability] ?? capability).join(", ") || "nothing that can be used"}`,
    );
  }
  if (ide.schema !== undefined) lines.push(`schema: ${schemaWords[ide.schema.verdict]}`);
  if (ide.variant === "antigravity") lines.push("metered, never prompted");
  return [
    ...spellLines(`${name}  build ${ide.build || "unknown"}, ${process}`, width, 2, 4),
    ...lines.flatMap((line) => spellLines(line, width, 4, 6)),
  ];
}

const schemaWords: Readonly<Record<NonNullable<IdeReport["schema"]>["verdict"], string>> = {
  same: "as Millrace knows it",
  moved: "some fields have other numbers",
  broken: "something that Millrace needs is missing",
  unreadable: "cannot be read",
  not_found: "not found; taken to be as Millrace knows it",
};

const capabilityWords: Readonly<Record<string, string>> = {
  cascade: "Cascade",
  steps: "typed steps",
  transcript: "transcript",
  rawChat: "raw chat",
};
