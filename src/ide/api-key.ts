import { z } from "zod";
import { Secret } from "../base/secret.ts";
import type { IdeVariant } from "../language-server/endpoint.ts";
import type { Host } from "./host.ts";
import { homesOf, joinPath, type StateQuestion, stateFiles } from "./layouts.ts";
import type { Trace } from "./trace.ts";

/** What an IDE's files say of the account that is signed in. */
export interface Account {
  /** Empty when nobody is signed in, and for Antigravity, whose server keeps its own session. */
  readonly apiKey: Secret;
  readonly signedIn: boolean;
  /** The file that said so; undefined if none was there. */
  readonly file: string | undefined;
}

const noKey = new Secret("");
const authKeys: Readonly<Record<IdeVariant, readonly string[]>> = {
  windsurf: ["windsurfAuthStatus"],
  "windsurf-next": ["windsurfAuthStatus"],
  antigravity: ["antigravityAuthStatus", "antigravityUnifiedStateSync.oauthToken"],
};
const authStatus = z.object({ apiKey: z.string().nullish() });
const maxConfigBytes = 1024 * 1024;
const maxKeyLength = 16 * 1024;

/** The known forms of a key; anything else printable is used as it is. Source: facts/language-server.md, 5.2. */
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

/**
 * Reads who is signed in from the live `state.vscdb` of this IDE, else from `~/.codeium/config.json` of older builds.
 * Each file that was looked at becomes a trace entry; the key never does.
 */
export async function readAccount(
  host: Host,
  question: StateQuestion,
  trace: Trace,
  signal: AbortSignal,
): Promise<Account> {
  const missing: string[] = [];
  for (const file of stateFiles(question)) {
    const read = await host.readState(file, authKeys[question.variant], signal);
    if (read.kind === "missing") {
      missing.push(file);
      continue;
    }
    if (read.kind === "unreadable") {
      trace.rejected("credentials", file, "state-db", read.why);
      continue;
    }
    if (question.variant === "antigravity") {
      const signedIn = read.values.size > 0;
      trace.note(
        "credentials",
        file,
        "state-db",
        signedIn ? "signed in; its server needs no key" : "nobody is signed in",
      );
      return { apiKey: noKey, signedIn, file };
    }
    const stored = read.values.get("windsurfAuthStatus");
    const found = stored === undefined ? undefined : apiKeyOfJson(stored);
    if (found !== undefined) {
      trace.kept("credentials", file, "state-db", `holds an API key (${found.form})`);
      return { apiKey: found.key, signedIn: true, file };
    }
    if (stored !== undefined) {
      trace.rejected("credentials", file, "state-db", "nobody is signed in: its auth status holds no API key");
      return { apiKey: noKey, signedIn: false, file };
    }
    trace.rejected("credentials", file, "state-db", "nobody is signed in: it has no auth status");
    return (await readLegacy(host, question, trace, signal)) ?? { apiKey: noKey, signedIn: false, file };
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
