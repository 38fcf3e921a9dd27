import { ideName } from "../../base/ide-name.ts";
import type { CascadesOnDisk } from "../compose/own-cascades.ts";
import type { Output } from "../terminal/output.ts";
import { type AgentsCheck, type BackendCheck, besideAgent } from "./check-agents.ts";
import type { GatewayCheck } from "./check-gateway.ts";
import type { IdeCheck, IdeReport } from "./check-ides.ts";
import type { KeyCheck, MachineCheck, StoreCheck } from "./check-store.ts";
import { type Finding, finding } from "./finding.ts";
import { spellAge, spellBytes, spellCount, spellLines } from "./spell.ts";

type WithoutFindings<T> = Omit<T, "findings">;

/** Everything the doctor found, as `--json` prints it. Stable: members are added, never renamed. Holds no secret. */
export interface DoctorReport {
  /** The findings, the worst first. */
  readonly data: readonly Finding[];
  readonly machine: WithoutFindings<MachineCheck>;
  readonly ides: IdeCheck["ides"];
  readonly rejected: IdeCheck["rejected"];
  /** Installed programs, their accounts, and the source of the plan. */
  readonly installed: AgentsCheck;
  readonly backend: BackendCheck["backend"];
  /** Agents that were started to look at them. */
  readonly agents: BackendCheck["agents"];
  readonly gateway: WithoutFindings<GatewayCheck>;
  readonly key: WithoutFindings<KeyCheck>;
  readonly store: WithoutFindings<StoreCheck>;
  readonly conversations: WithoutFindings<ConversationsCheck>;
  readonly trace: IdeCheck["trace"];
}

/** Puts the checks together; the worst findings first, each kind in the order of the checks. */
export function assembleReport(checks: {
  readonly machine: MachineCheck;
  readonly ides: IdeCheck;
  readonly installed: AgentsCheck;
  readonly backend: BackendCheck;
  readonly gateway: GatewayCheck;
  readonly key: KeyCheck;
  readonly store: StoreCheck;
  readonly cascades: CascadesOnDisk;
  readonly more: readonly Finding[];
}): DoctorReport {
  const { findings: ofMachine, ...machine } = checks.machine;
  const { findings: ofIdes, ides, rejected, trace } = checks.ides;
  const { findings: ofAgents, backend, agents } = checks.backend;
  const { findings: ofGateway, ...gateway } = checks.gateway;
  const { findings: ofKey, ...key } = checks.key;
  const { findings: ofStore, ...store } = checks.store;
  const { findings: ofConversations, ...conversations } = checkConversations(checks.cascades);
  // If nothing was found, the checks of the IDEs already report that.
  const said = backend.kind === "none" && ofIdes.some(({ level }) => level === "error");
  const asked = said ? ofAgents.filter(({ what }) => what !== backend.why) : ofAgents;
  const all = [
    ...ofMachine,
    ...besideAgent(ofIdes, backend),
    ...asked,
    ...checks.more,
    ...ofGateway,
    ...ofKey,
    ...ofStore,
    ...ofConversations,
  ];
  const data = levels.flatMap((level) => all.filter((finding) => finding.level === level));
  const { installed } = checks;
  return { data, machine, ides, rejected, installed, backend, agents, gateway, key, store, conversations, trace };
}

const levels: readonly Finding["level"][] = ["error", "warning", "note", "ok"];

interface ConversationsCheck {
  readonly own_files: number;
  readonly own_bytes: number;
  readonly other_files: number;
  readonly other_bytes: number;
  readonly findings: readonly Finding[];
}

function taken(files: number, bytes: number): string {
  return `${spellCount(files, "conversation")} (${spellBytes(bytes)} on disk)`;
}

const manyBytes = 500 * 1000 ** 2;

/** How much disk conversations take in the IDE's folders, ours and its own. */
function checkConversations({ own, others }: CascadesOnDisk): ConversationsCheck {
  const ownBytes = own.reduce((sum, { bytes }) => sum + bytes, 0);
  const ours =
    own.length === 0
      ? "No conversation of Millrace is left in the IDE"
      : `${taken(own.length, ownBytes)} of Millrace ${own.length === 1 ? "is" : "are"} in the IDE`;
  const theirs = others.files === 0 ? "" : `; ${taken(others.files, others.bytes)} are the IDE's own`;
  const what = `${ours}${theirs}`;
  const level = ownBytes > manyBytes ? "warning" : "note";
  const verdict =
    own.length === 0
      ? finding("conversations", "ok", what)
      : finding("conversations", level, what, "`millrace cascades clean` shows what can go.");
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
  const { machine, ides, rejected, gateway, key, store } = report;
  const heading = (text: string) => style("bold", text);
  const lines = [
    heading("IDEs"),
    ...(ides.length === 0 ? ["  none found"] : ides.flatMap((ide) => linesOf(ide, width))),
  ];
  lines.push(...installedLines(report.installed, heading, width));
  if (rejected.length > 0) {
    lines.push("", heading("Looked at and rejected"));
    lines.push(
      ...rejected.slice(0, mostRejected).flatMap(({ subject, why }) => spellLines(`${subject}: ${why}`, width, 2, 4)),
    );
    if (rejected.length > mostRejected) lines.push(`  and ${rejected.length - mostRejected} more; --json has all`);
  }
  lines.push("", heading("Millrace"));
  const free = store.free_bytes === null ? "" : `, ${spellBytes(store.free_bytes)} free`;
  const own = [
    `version   ${machine.millrace}, Node ${machine.node}, ${machine.system}`,
    `gateway   ${gateway.running ? `${gateway.url} (pid ${gateway.pid}, version ${gateway.version})` : "not running"}`,
    `key       ${key.exists ? `${key.file}${key.mode === null ? "" : ` (mode ${key.mode})`}` : "none yet"}`,
    `store     ${store.file} (${store.state}, ${spellBytes(store.bytes)}${free})`,
  ];
  lines.push(...own.flatMap((line) => spellLines(line, width, 2, 12)));
  lines.push("", heading("Findings"));
  for (const { level, what, todo } of report.data) {
    const [mark, colour] = marks[level];
    const [first = "", ...rest] = spellLines(what, width, 4, 4);
    lines.push(`  ${style(colour, mark)} ${first.trimStart()}`, ...rest);
    if (todo !== undefined) lines.push(...spellLines(todo, width, 6, 6));
  }
  return lines;
}

function installedLines(
  { apps, agents, data_folders: folders, cli_credentials: credentials, plans }: DoctorReport["installed"],
  heading: (text: string) => string,
  width: number,
): readonly string[] {
  const spell = (text: string) => spellLines(text, width, 2, 4);
  const lines: string[] = ["", heading("Installed")];
  if (apps.length === 0) lines.push("  no app of the vendor found");
  lines.push(
    ...apps.flatMap(({ product, path, running }) =>
      spell(`${product}, ${running ? "running" : "not running"}: ${path}`),
    ),
  );
  for (const { product, path, signed_in: signedIn, chosen } of agents) {
    const mark = chosen ? "; this one is asked over ACP" : "";
    lines.push(...spell(`agent of ${product}, ${signInWords[signedIn]}${mark}: ${path}`));
  }
  if (agents.length === 0) lines.push("  no `devin` program found");
  lines.push(
    ...spell(
      `credentials of the CLI: ${credentials.found ? "yes" : "no"}${credentials.file === null ? "" : ` (${credentials.file})`}`,
    ),
  );
  const looked = folders.filter(({ why }) => why !== "is not there");
  lines.push(
    ...looked.flatMap(({ file, taken, why }) => spell(`data folder ${taken ? "taken" : "not taken"}: ${file}: ${why}`)),
  );
  for (const { variant, source, read_at: readAt, problem } of plans) {
    const text = source === "none" ? `not known. ${problem ?? ""}` : `from the ${planWords[source]} ${readAt ?? ""}`;
    lines.push(...spell(`plan of ${ideName(variant)}: ${text}`));
  }
  return lines;
}

const signInWords = {
  own: "signed in by itself",
  editor: "signed in by the app's key",
  no: "no account signed in",
} as const;

const planWords = {
  language_server: "language server, read at",
  saved_plan: "plan that the app saved, written at",
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
