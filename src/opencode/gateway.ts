import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { MillraceError } from "../base/errors.ts";
import { Secret } from "../base/secret.ts";

/** A gateway whose answer matches the file that holds its address. */
export interface FoundGateway {
  readonly url: string;
  readonly key: Secret;
}

/** The folder of Millrace's files, and the facts that starting a gateway needs. */
export interface GatewayHome {
  /** `~/.millrace`, or MILLRACE_HOME. */
  readonly folder: string;
  /** Another file than `key` in the folder, from MILLRACE_KEY_FILE. */
  readonly keyFile: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** How long a running gateway has to say who it is, ms. */
  readonly handshakeMs?: number;
}

const addressSchema = z.object({ url: z.url(), instance: z.string() });
const healthSchema = z.object({ instance: z.string() });
const handshakeMs = 2_000;
const startMs = 20_000;
const lookEveryMs = 100;

/**
 * The gateway of this user that runs now; `silent` when a program listens at its address and has not answered yet, as on a busy
 * machine. Another program on its port does not count as the gateway and never gets the key.
 */
async function findGateway(home: GatewayHome): Promise<FoundGateway | "silent" | undefined> {
  try {
    const address = addressSchema.parse(JSON.parse(readFileSync(join(home.folder, "gateway.json"), "utf8")));
    const health = await fetch(new URL("/health", address.url), {
      signal: AbortSignal.timeout(home.handshakeMs ?? handshakeMs),
    });
    if (healthSchema.parse(await health.json()).instance !== address.instance) return undefined;
    const key = readFileSync(home.keyFile ?? join(home.folder, "key"), "utf8").trim();
    return { url: address.url, key: new Secret(key) };
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") return "silent";
    return undefined; // no file, no answer, or another program: there is no gateway
  }
}

/**
 * The running gateway, or a new one in a separate process that outlives OpenCode. Waits for a gateway that is slow to answer,
 * because a second gateway would not help.
 *
 * @throws MillraceError `upstream_failed` when none comes up in 20 s.
 */
export async function attachOrStart(home: GatewayHome): Promise<FoundGateway> {
  let found = await findGateway(home);
  if (typeof found === "object") return found;
  const ended = found === undefined ? startProcess(home) : { why: "one listens, but does not answer" };
  const giveUpAtMs = home.clock.monotonic() + startMs;
  while (home.clock.monotonic() < giveUpAtMs) {
    await home.clock.sleep(lookEveryMs, new AbortController().signal);
    found = await findGateway(home);
    if (typeof found === "object") return found;
    if (found === undefined && ended.why !== undefined) break;
  }
  throw new MillraceError(
    "upstream_failed",
    `The gateway did not start${ended.why === undefined ? "" : `: ${ended.why}`}.`,
    {
      hint: "Run `millrace serve` in a terminal to see why (it needs Node 22.13 or newer).",
    },
  );
}

/** Starts `millrace serve` under Node: OpenCode's own runtime has no SQLite of Node's. */
function startProcess({ env }: GatewayHome): { why: string | undefined } {
  const ended: { why: string | undefined } = { why: undefined };
  const child = spawn("node", [...millrace(), "serve"], { detached: true, stdio: "ignore", env: { ...env } });
  child.once("error", (error) => (ended.why = error.message));
  child.once("exit", (code) => (ended.why = `it ended with code ${code}`));
  child.unref();
  return ended;
}

/** The script that starts Millrace, and its arguments. The bundle is one folder; a clone picks the Node that it needs. */
function millrace(): readonly string[] {
  const own = fileURLToPath(import.meta.url);
  return own.endsWith(".ts") ? [join(own, "../../../scripts/run.mjs"), "src/cli/bin.ts"] : [join(own, "../bin.js")];
}

/** Asks the gateway for JSON. Throws `MillraceError` with the gateway's own words when it refuses. */
export async function askGateway(gateway: FoundGateway, path: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(new URL(path, gateway.url), {
    headers: { authorization: `Bearer ${gateway.key.reveal()}`, "user-agent": "millrace-opencode" },
    signal,
  });
  const body: unknown = await response.json();
  if (response.ok) return body;
  const told = z.object({ error: z.object({ message: z.string() }) }).safeParse(body);
  throw new MillraceError(
    "upstream_failed",
    told.success ? told.data.error.message : `The gateway answered ${response.status}.`,
  );
}
