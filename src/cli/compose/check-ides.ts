import { stat } from "node:fs/promises";
import { deadline } from "../../base/async.ts";
import { isMillraceError } from "../../base/errors.ts";
import { chooseAgent } from "../../ide/apps/choose-agent.ts";
import { joinPath } from "../../ide/apps/layouts.ts";
import type { DiscoveryResult, Ide, IdeFinder, TraceEntry } from "../../ide/ide.ts";
import { byServer, isFound } from "../../ide/process/near-miss.ts";
import { upstreamReason } from "../../language-server/errors/errors.ts";
import type { Capabilities, LanguageServer } from "../../language-server/language-server.ts";
import type { Schemas } from "../../schema/open-schemas.ts";
import { seeDoctor, whyNone } from "../serve/servers.ts";
import { type Finding, finding } from "../terminal/finding.ts";

/** One IDE as the report shows it. */
export interface IdeReport {
  readonly variant: Ide["variant"];
  /** The product's name for the user. */
  readonly product: string;
  /** Of `millrace simulate`. */
  readonly stand_in: boolean;
  readonly build: string;
  readonly pid: number | null;
  readonly uptime_ms: number | null;
  readonly endpoint: string;
  readonly protocol: string;
  readonly tls: boolean;
  /** Undefined for Antigravity, which is asked nothing that it need not be asked. */
  readonly capabilities?: Capabilities;
  /** Likewise. */
  readonly schema?: SchemaReport;
  readonly signed_in: boolean;
  /** How long its port took to answer the search. */
  readonly answered_in_ms: number | null;
  readonly plan: string | null;
  /** The account's plan does not allow Cascade. */
  readonly cascade_denied?: true;
  /** Why the server could not be asked. */
  readonly problem?: string;
}

/** `asksPlan`: whether each IDE is asked for the name of its plan. */
interface IdeQuestion {
  readonly nowMs: number;
  readonly asksPlan: boolean;
}

/** An IDE that needs so long for each call is slow. */
const slowMs = 1_000;
const askLimitMs = 8_000;
/** The same for a slow IDE: what it is asked takes two calls, one after the other. */
const slowAskLimitMs = 25_000;

/** Searches for IDEs and asks each for its capabilities and its account (and the plan's name, on request). Spends nothing. */
export async function checkIdes(
  finder: IdeFinder,
  schemas: Schemas,
  { nowMs, asksPlan }: IdeQuestion,
  signal: AbortSignal,
) {
  const result = await finder.find(signal);
  const ides = await Promise.all(result.ides.map((ide) => report({ finder, schemas, nowMs, asksPlan }, ide, signal)));
  const rejected = rejectionsThatMatter(result.trace).map(({ stage, subject, rule, why }) => ({
    stage,
    subject,
    rule,
    why,
  }));
  return {
    ides,
    rejected,
    trace: result.trace,
    findings: [
      ...findingsOf(ides, result),
      ...ides.flatMap((ide) => problemsOf(ide, ides, chooseAgent(result) !== undefined)),
    ],
  };
}

async function report(
  { finder, schemas, nowMs, asksPlan }: IdeQuestion & { readonly finder: IdeFinder; readonly schemas: Schemas },
  ide: Ide,
  signal: AbortSignal,
): Promise<IdeReport> {
  const known = {
    variant: ide.variant,
    product: ide.product,
    stand_in: ide.standIn === true,
    build: ide.build,
    pid: ide.pid ?? null,
    uptime_ms: ide.startedAtMs === undefined ? null : nowMs - ide.startedAtMs,
    endpoint: `${ide.endpoint.host}:${ide.endpoint.port}`,
    protocol: ide.endpoint.protocol,
    tls: ide.endpoint.tls,
    signed_in: ide.signedIn,
    answered_in_ms: ide.answeredInMs === undefined ? null : Math.round(ide.answeredInMs),
  };
  if (ide.variant === "antigravity") return { ...known, plan: null };
  const schema = await checkSchema(schemas, ide.identity.extensionPath, signal);
  try {
    const limited = deadline(signal, (ide.answeredInMs ?? 0) > slowMs ? slowAskLimitMs : askLimitMs);
    const server = await finder.connect(ide, limited);
    const capabilities = await server.capabilities(limited);
    const plan = asksPlan && ide.signedIn ? await planOf(server, limited) : null;
    return { ...known, capabilities, schema, plan, ...(server.cascadeDenied === true ? { cascade_denied: true } : {}) };
  } catch (error) {
    if (signal.aborted) throw error;
    return {
      ...known,
      schema,
      plan: null,
      problem: isMillraceError(error) ? error.message : "it did not answer in time",
    };
  }
}

async function planOf(server: LanguageServer, signal: AbortSignal): Promise<string | null> {
  try {
    const { planStatus } = await server.getUserStatus(signal);
    return planStatus?.planInfo?.planName || null;
  } catch (error) {
    const reason = upstreamReason(error);
    if (reason === "not_implemented" || reason === "retired") return null; // the app may have saved the plan
    throw error;
  }
}

/** All rejections but those of an IDE that was found by another port or token: they only show how it was found. */
function rejectionsThatMatter(trace: readonly TraceEntry[]): readonly TraceEntry[] {
  return byServer(trace).flatMap((entries) =>
    entries.filter(
      ({ stage, verdict }) => verdict === "rejected" && !(isFound(entries) && (stage === "ports" || stage === "probe")),
    ),
  );
}

function findingsOf(ides: readonly IdeReport[], result: DiscoveryResult): readonly Finding[] {
  const usable = ides.filter(({ variant, signed_in: signedIn }) => variant !== "antigravity" && signedIn);
  if (usable.length > 0)
    return [finding("ide", "ok", `${usable.length === 1 ? "An IDE" : `${usable.length} IDEs`} can be used`)];
  const chosen = chooseAgent(result);
  if (chosen !== undefined) {
    const { agent, why } = chosen;
    const what = `No language server can be used, but the agent of ${agent.product} can be asked (${agent.path}: ${why})`;
    return [finding("ide", "ok", what)];
  }
  const { code, what, todo } = whyNone(result);
  const around = result.trace.filter(({ subject, verdict }) => subject === "this system" && verdict === "note");
  const more = around.map(({ why }) => `${why.charAt(0).toUpperCase()}${why.slice(1)}.`);
  const next = [todo.replace(seeDoctor, ""), ...more].join(" ");
  return [finding(code === "not_signed_in" ? "account" : "ide", "error", what, next)];
}

function problemsOf(ide: IdeReport, all: readonly IdeReport[], hasAgent: boolean): readonly Finding[] {
  const { product, pid, problem, capabilities, schema, answered_in_ms: ms } = ide;
  const name = `${product}${pid === null ? "" : ` (pid ${pid})`}`;
  const isSlow = ms !== null && ms > slowMs;
  const hasNoWay = capabilities !== undefined && !capabilities.cascade && !capabilities.rawChat;
  const isDenied = capabilities?.cascade === true && ide.cascade_denied === true;
  // If no IDE has an account, that is already an error.
  const isLeftOut = !ide.signed_in && all.some((one) => one.signed_in && one.variant !== "antigravity");
  const removed =
    "Cascade was removed from it, and no agent program that is signed in was found. Sign in inside the IDE, or run `devin auth login`.";
  const denied = `${name}: the account's plan does not allow Cascade`;
  const found: readonly (Finding | false)[] = [
    isSlow &&
      finding(
        "ide",
        "note",
        `${name} answers slowly: ${(ms / 1000).toFixed(1)} s for one call`,
        "Look what keeps the machine busy, or reload the IDE's window.",
      ),
    problem !== undefined &&
      finding("ide", "warning", `${name}: ${problem}`, "Reload the IDE's window; if it stays, restart the IDE."),
    hasNoWay && hasAgent && finding("ide", "note", `${name} takes no prompts itself; its agent is asked over ACP`),
    hasNoWay && !hasAgent && finding("ide", "error", `${name} offers no way to send a prompt`, removed),
    isDenied && hasAgent && finding("account", "note", `${denied}; its agent is asked over ACP`),
    isDenied && !hasAgent && finding("account", "error", denied, "Install the Devin CLI and run `devin auth login`."),
    isLeftOut && finding("ide", "note", `${name}: no account is signed in there, so it is not used`),
  ];
  return [...found.filter((each) => each !== false), ...schemaFindings(name, schema)];
}

function schemaFindings(name: string, schema: SchemaReport | undefined): readonly Finding[] {
  const area = "ide";
  if (schema === undefined) return [];
  switch (schema.verdict) {
    case "broken": {
      const what = `${name} speaks a schema without what Millrace needs: ${schema.load_bearing.join(", ")}`;
      return [finding(area, "error", what, "Update Millrace.")];
    }
    case "unreadable": {
      const what = `${name}: its schema cannot be read. ${schema.why}`;
      return [finding(area, "warning", what, "Nothing, as long as answers come; please report it.")];
    }
    case "moved": {
      const what = `${name} numbers ${schema.differences} fields otherwise than Millrace; its own numbers are used`;
      return [finding(area, "note", what)];
    }
    case "same":
    case "not_found":
      return [];
    default:
      return schema satisfies never;
  }
}

/** How the schema of an IDE's build stands to ours. */
type SchemaReport = Awaited<ReturnType<typeof checkSchema>>;

/** Reads the build's own `extension.js`, as the gateway does before its first call: once for each content, then from the cache. */
export async function checkSchema(schemas: Schemas, extensionPath: string, signal: AbortSignal) {
  const file = joinPath(extensionPath, "dist", "extension.js");
  const none = { differences: 0, load_bearing: [] as string[] };
  if (extensionPath === "" || !(await isThere(file))) return { verdict: "not_found" as const, ...none };
  try {
    const { verdict, differences } = await schemas.read(file, signal);
    const bearing = differences.filter((difference) => difference.loadBearing).map(({ where }) => where);
    // What Millrace cannot work without, and is missing or changed.
    return { verdict, differences: differences.length, load_bearing: bearing.slice(0, 10) };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { verdict: "unreadable" as const, ...none, why: error.message };
  }
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    (info) => info.isFile(),
    () => false, // not there, or inside a sandbox
  );
}
