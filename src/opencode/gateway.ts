import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { MillraceError } from "../base/errors.ts";
import { childEnvironment } from "../base/node/child-environment.ts";
import { identifyListener, startMs } from "../base/node/gateway-proof.ts";
import { loopbackFetch } from "../base/node/loopback.ts";
import { readOwnFile } from "../base/node/own-file.ts";
import { Secret } from "../base/secret.ts";

/** A gateway that proved that it knows the key. */
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
  /** OpenCode's own arguments. */
  readonly args?: readonly string[];
  /** How long a running gateway has to say who it is, ms. */
  readonly handshakeMs?: number;
}

const addressSchema = z.object({ url: z.url(), instance: z.string() });
const handshakeMs = 2_000;
const lookEveryMs = 100;

/**
 * The gateway of this user that runs now; `silent` when a program listens at its address and has not answered yet, as on a busy
 * machine. Another program on its port does not prove that it knows the key, and never gets it.
 */
export async function findGateway(home: GatewayHome): Promise<FoundGateway | "silent" | "stranger" | undefined> {
  try {
    const address = addressSchema.parse(JSON.parse(readFileSync(join(home.folder, "gateway.json"), "utf8")));
    const text = readOwnFile(home.keyFile ?? join(home.folder, "key"))?.trim();
    if (!text) return undefined;
    const key = new Secret(text);
    const listener = await identifyListener(address, key, home.handshakeMs ?? handshakeMs);
    if (listener === "ours") return { url: address.url, key };
    return listener === "none" ? undefined : listener;
  } catch {
    return undefined; // no file, or none that can be used: `millrace serve` says why
  }
}

/**
 * The running gateway, or a new one in a separate process, which ends when it is idle. Waits for a gateway that is slow to answer,
 * because a second gateway would not help. `askedAtMs`: when the user last asked for something (epoch ms); `millrace stop` holds until then.
 *
 * @throws MillraceError `upstream_failed` when none comes up in a minute, or the user stopped it since.
 */
export async function attachOrStart(home: GatewayHome, askedAtMs: number): Promise<FoundGateway> {
  let found = await findGateway(home);
  if (typeof found === "object") return found;
  if (found !== "silent" && stoppedAtMs(home) > askedAtMs)
    throw new MillraceError("upstream_failed", "`millrace stop` stopped the gateway.", {
      hint: "Send a new message, or run `millrace serve --background`.",
    });
  const isStranger = found === "stranger"; // on the port of a gateway that is gone: the new one takes another port
  const ended = found === "silent" ? { why: "one listens, but does not answer" } : startProcess(home);
  const giveUpAtMs = home.clock.monotonic() + startMs;
  while (home.clock.monotonic() < giveUpAtMs) {
    await home.clock.sleep(lookEveryMs, new AbortController().signal);
    found = await findGateway(home);
    if (typeof found === "object") return found;
    if (found !== "silent" && ended.why !== undefined) break;
  }
  throw new MillraceError(
    "upstream_failed",
    `The gateway did not start${ended.why === undefined ? "" : `: ${ended.why}`}.${isStranger ? " Another program answers on its port. It got no key." : ""}`,
    {
      hint: `Run \`millrace serve\` in a terminal to see why (it needs Node 22.13 or newer). Its log is in ${join(home.folder, "logs")}.`,
    },
  );
}

/** When the user stopped the gateway by `millrace stop`, epoch ms; 0 where it was not, or was started since. The file is that of src/cli/settings.ts. */
function stoppedAtMs({ folder }: GatewayHome): number {
  try {
    return Date.parse(readFileSync(join(folder, "stopped"), "utf8").trim()) || 0;
  } catch {
    return 0;
  }
}

const awakeEveryMs = 60_000;

/** Asks the gateway each minute, so that it does not end because it is idle while OpenCode runs. Starts none, and keeps no process alive. */
export function keepAwake(home: GatewayHome): void {
  setInterval(() => void findGateway(home), awakeEveryMs).unref();
}

/**
 * Starts `millrace serve --background` under Node, because OpenCode's own runtime has no SQLite of Node's. That command ends once the gateway
 * serves, or says why it does not. The gateway ends when it is idle: the variable is that of src/cli/gateway-process/background.ts.
 */
function startProcess({ env }: GatewayHome): { why: string | undefined } {
  const ended: { why: string | undefined } = { why: undefined };
  const child = spawn("node", [...millrace(), "serve", "--background"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: childEnvironment("own", env, process.platform, { set: { MILLRACE_STARTED_BY: "command" } }),
    windowsHide: true,
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-2_000)));
  child.once("error", (error) => (ended.why = error.message));
  child.once("close", (code) => {
    const lines = said.split("\n").filter((line) => line.trim() !== "");
    const told = lines.find((line) => line.startsWith("error: ")) ?? lines.at(-1) ?? `it ended with code ${code}`;
    if (code !== 0) ended.why = told.replace(/^error: /, "").replace(/\.$/, "");
  });
  child.unref();
  return ended;
}

/** The script that starts Millrace, and its arguments. The bundle is one folder; a clone picks the Node that it needs. */
function millrace(): readonly string[] {
  const own = fileURLToPath(import.meta.url);
  return own.endsWith(".ts") ? [join(own, "../../../scripts/run.mjs"), "src/cli/bin.ts"] : [join(own, "../bin.js")];
}

/**
 * Asks a gateway for JSON. Throws `MillraceError` with the gateway's own words when it refuses.
 */
export async function askGateway(gateway: FoundGateway, path: string, signal: AbortSignal): Promise<unknown> {
  const response = await loopbackFetch(new URL(path, gateway.url), {
    headers: { authorization: `Bearer ${gateway.key.reveal()}`, "user-agent": "millrace-opencode" },
    signal,
  });
  const body: unknown = await response.json();
  if (response.ok) return body;
  const told = z.object({ error: z.object({ message: z.string() }) }).safeParse(body);
  throw new MillraceError(
    "upstream_failed",
    told.success ? told.data.error.message : `The gateway answered ${response.status}.`,
    { hint: "" }, // its message holds the hint
  );
}
