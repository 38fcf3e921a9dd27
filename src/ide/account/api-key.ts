import { z } from "zod";
import { Secret } from "../../base/secret.ts";
import { homesOf, joinPath, type StatePlace, type StateQuestion, stateFileOf, statePlaces } from "../apps/layouts.ts";
import type { Trace } from "../discover/trace.ts";
import type { Host } from "../host/host.ts";

/** The signed-in account, as an IDE's files show it. */
export interface Account {
  /** Empty when no account is signed in, and for Antigravity, whose server keeps its own session. */
  readonly apiKey: Secret;
  readonly signedIn: boolean;
  /** The file with that value; undefined if there was none. */
  readonly file: string | undefined;
}

const noKey = new Secret("");
const authKeys: Readonly<Record<"windsurf" | "antigravity", readonly string[]>> = {
  windsurf: ["windsurfAuthStatus"],
  antigravity: ["antigravityAuthStatus", "antigravityUnifiedStateSync.oauthToken"],
};
const authStatus = z.object({ apiKey: z.string().nullish() });
const maxConfigBytes = 1024 * 1024;
const maxKeyLength = 16 * 1024;

/**
 * The known forms of a key; any other printable text is used unchanged.
 * Source: docs/dev/wire/processes.md, "Keys of the state database".
 */
export type KeyForm = "uuid" | "sk-ws" | "devin-session" | "cog" | "unknown";

/** An API key in any known form; undefined when the text cannot be one. */
export function parseApiKey(text: unknown): { readonly key: Secret; readonly form: KeyForm } | undefined {
  if (typeof text !== "string" || text.length > maxKeyLength) return undefined;
  const trimmed = text.trim();
  if (!/^[\x21-\x7e]{8,}$/.test(trimmed)) return undefined;
  return { key: new Secret(trimmed), form: formOf(trimmed) };
}

function formOf(key: string): KeyForm {
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(key)) return "uuid";
  if (key.startsWith("sk-ws-")) return "sk-ws";
  if (key.startsWith("devin-session-token$")) return "devin-session";
  if (key.startsWith("cog_")) return "cog";
  return "unknown";
}

/** The `apiKey` member of a JSON text, as `windsurfAuthStatus` and `~/.codeium/config.json` have it. */
export function apiKeyOfJson(text: string): ReturnType<typeof parseApiKey> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined; // the IDE wrote something else: no key in it
  }
  const status = authStatus.safeParse(json);
  return status.success ? parseApiKey(status.data.apiKey) : undefined;
}

/** One data folder's evidence of the account. */
interface KeySource {
  readonly file: string;
  readonly found: ReturnType<typeof parseApiKey>;
  /** Whether it mentions an account, or the absence of one. */
  readonly hasStatus: boolean;
  /** Epoch ms of the database's last change; 0 where the system does not say. */
  readonly modifiedMs: number;
}

/**
 * Reads the account from the live `state.vscdb` of this IDE, else from `~/.codeium/config.json` of older builds. If there is an
 * old and a new data folder, the newest with an account counts. Each file that was read becomes a trace entry; the
 * key never does. Source: docs/dev/wire/devin-desktop.md, "Data folders".
 */
export async function readAccount(
  host: Host,
  question: StateQuestion,
  trace: Trace,
  signal: AbortSignal,
): Promise<Account> {
  const missing: string[] = [];
  const look: Look = { host, missing, trace };
  for (const { files, by } of statePlaces(question)) {
    if (question.variant === "antigravity") {
      const account = await readAntigravity(look, files, signal);
      if (account !== undefined) return account;
      continue;
    }
    const readings = await readAll(look, files, signal);
    if (readings.length === 0) continue;
    const account = await newestOf({ readings, by }, question, trace, signal);
    if (account !== undefined) return account;
    const [first] = readings;
    if (readings.some(({ hasStatus }) => hasStatus)) return { apiKey: noKey, signedIn: false, file: first?.file };
    return (await readLegacy(host, question, trace, signal)) ?? { apiKey: noKey, signedIn: false, file: first?.file };
  }
  if (question.variant === "antigravity") {
    trace.note("credentials", "state.vscdb", "state-db", "not found; its server needs no key");
    return { apiKey: noKey, signedIn: true, file: undefined };
  }
  for (const file of missing) trace.note("credentials", file, "state-db", "is not there");
  const legacy = await readLegacy(host, question, trace, signal);
  if (legacy === undefined) trace.rejected("credentials", "API key", "state-db", "no file of this IDE holds one");
  return legacy ?? { apiKey: noKey, signedIn: false, file: undefined };
}

/** One search for an account. `missing` collects the files that are not there. */
interface Look {
  readonly host: Host;
  readonly missing: string[];
  readonly trace: Trace;
}

async function readAntigravity(
  { host, missing, trace }: Look,
  files: readonly string[],
  signal: AbortSignal,
): Promise<Account | undefined> {
  for (const file of files) {
    const read = await host.readState(file, authKeys.antigravity, signal);
    if (read.kind === "missing") missing.push(file);
    else if (read.kind === "unreadable") trace.rejected("credentials", file, "state-db", read.why);
    else {
      const signedIn = read.values.size > 0;
      const why = signedIn ? "signed in; its server needs no key" : "no account is signed in";
      trace.note("credentials", file, "state-db", why);
      return { apiKey: noKey, signedIn, file };
    }
  }
  return undefined;
}

/** The databases among these that can be read. */
async function readAll(
  { host, missing, trace }: Look,
  files: readonly string[],
  signal: AbortSignal,
): Promise<readonly KeySource[]> {
  const readings: KeySource[] = [];
  for (const file of files) {
    const read = await host.readState(file, authKeys.windsurf, signal);
    if (read.kind === "missing") missing.push(file);
    else if (read.kind === "unreadable") trace.rejected("credentials", file, "state-db", read.why);
    else {
      const stored = read.values.get("windsurfAuthStatus");
      readings.push({
        file,
        found: stored === undefined ? undefined : apiKeyOfJson(stored),
        hasStatus: stored !== undefined,
        modifiedMs: await lastChange(host, file, signal),
      });
    }
  }
  return readings;
}

/** While the IDE runs, its writes are in the file beside the database. */
async function lastChange(host: Host, file: string, signal: AbortSignal): Promise<number> {
  const facts = await Promise.all([file, `${file}-wal`].map((path) => host.fileFacts(path, signal)));
  return Math.max(0, ...facts.map((one) => one?.modifiedMs ?? 0));
}

/** The account of one place, and in the trace why this one; undefined if no account is signed in. */
async function newestOf(
  { readings, by }: { readonly readings: readonly KeySource[]; readonly by: StatePlace["by"] },
  question: StateQuestion,
  trace: Trace,
  signal: AbortSignal,
): Promise<Account | undefined> {
  for (const { file, found, hasStatus } of readings) {
    if (found !== undefined) continue;
    const why = hasStatus ? "its auth status holds no API key" : "it has no auth status";
    trace.rejected("credentials", file, "state-db", `no account is signed in: ${why}`);
  }
  const signedIn = readings
    .flatMap(({ found, ...reading }) => (found === undefined ? [] : [{ ...reading, found }]))
    .toSorted((a, b) => b.modifiedMs - a.modifiedMs);
  const [newest, ...others] = signedIn;
  if (newest === undefined) return undefined;
  const named = others.length === 0 ? undefined : await question.askUserDataDir?.(signal);
  const said = named === undefined ? undefined : signedIn.find(({ file }) => file === stateFileOf(named));
  const taken = said ?? newest;
  const why =
    by === "named"
      ? "; the IDE that runs, or a setting, names this folder"
      : said !== undefined
        ? "; the IDE that runs names this folder"
        : others.length > 0
          ? `; of ${signedIn.length} folders with an account it changed last, ${instant(taken.modifiedMs)}`
          : "";
  trace.kept("credentials", taken.file, "state-db", `holds an API key (${taken.found.form})${why}`);
  for (const other of signedIn) {
    if (other === taken) continue;
    const than =
      said === undefined
        ? `last changed earlier, ${instant(other.modifiedMs)}`
        : "the IDE that runs names another folder";
    trace.note("credentials", other.file, "state-db", `holds an API key too, not used: ${than}`);
  }
  return { apiKey: taken.found.key, signedIn: true, file: taken.file };
}

function instant(atMs: number): string {
  return atMs === 0 ? "at an unknown time" : new Date(atMs).toISOString();
}

async function readLegacy(
  host: Host,
  question: StateQuestion,
  trace: Trace,
  signal: AbortSignal,
): Promise<Account | undefined> {
  for (const home of homesOf(question.platform, question.environment, question.homes)) {
    const file = joinPath(home, ".codeium", "config.json");
    const text = await host.readText(file, maxConfigBytes, signal);
    const found = text === undefined ? undefined : apiKeyOfJson(text);
    if (found === undefined) continue;
    trace.kept("credentials", file, "legacy-config", `holds an API key (${found.form})`);
    return { apiKey: found.key, signedIn: true, file };
  }
  return undefined;
}
