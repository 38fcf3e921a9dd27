import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { systemClock } from "../../base/clock.ts";
import { openLogLines } from "../gateway-process/gateway-log.ts";
import { type Home, takeHome } from "../gateway-process/home.ts";
import { version } from "../package-files.ts";
import { environmentOptions } from "../serve/gateway-options.ts";
import { readSettings, type Settings } from "../settings.ts";
import type { Io } from "../terminal/output.ts";
import { compose } from "./compose.ts";

export interface StartGatewayOptions {
  /** 0 (the default) for any free port. */
  readonly port?: number;
  /** Where turns are kept; in memory by default. A path is a SQLite file. */
  readonly storeFile?: string;
  /** How long a turn continues after its client is gone, ms; two minutes by default. */
  readonly graceMs?: number;
  /** How long an answer can be read again after its end, ms; two hours by default. */
  readonly retentionMs?: number;
  /** Whether the user agreed that prompts go to the IDE; `millrace init --accept` asks for it otherwise. */
  readonly accept?: boolean;
  /** Variables and home folder as the command line sees them; those of this process by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly homeFolder?: string;
}

/** A gateway that runs in this process. */
export interface RunningGateway {
  readonly url: string;
  /** The key that clients send as a bearer token. */
  readonly key: string;
  /** Hands over or ends the running turns, then frees the port. */
  close(): Promise<void>;
}

/**
 * Starts a gateway inside this process, on 127.0.0.1. Throws `MillraceError` when the port, key file or store cannot be used, or where the
 * home (MILLRACE_HOME) has a gateway already.
 */
export async function startGateway(options: StartGatewayOptions = {}): Promise<RunningGateway> {
  const env = options.env ?? process.env;
  const { stdin, stdout, stderr, platform } = process;
  const io: Io = {
    stdin,
    stdout,
    stderr,
    env,
    platform,
    homeFolder: options.homeFolder ?? homedir(),
    clock: systemClock,
    signal: new AbortController().signal,
  };
  const settings = readSettings(io);
  const record = {
    pid: process.pid,
    instance: randomUUID(),
    version: version(),
    startedAtMs: io.clock.now(),
    startedBy: "program" as const,
  };
  const told = { clock: io.clock, note: (text: string) => process.emitWarning(text) };
  const home = await takeHome(settings.gatewayFile, record, told, io.signal);
  try {
    return await startIn(home, { ...options, env }, { io, settings });
  } catch (error) {
    home.leave();
    throw error;
  }
}

async function startIn(
  home: Home,
  options: StartGatewayOptions & { readonly env: Io["env"] },
  { io, settings }: { readonly io: Io; readonly settings: Settings },
): Promise<RunningGateway> {
  const { storeFile, graceMs, retentionMs, accept } = options;
  const asked = environmentOptions(options.env);
  const composed = await compose({
    io,
    settings: storeFile === undefined ? settings : { ...settings, storeFile },
    options: {
      ...asked,
      store: storeFile === undefined ? "memory" : "sqlite",
      grace: graceMs ?? asked.grace,
      retention: retentionMs ?? asked.retention,
      accept: accept ?? asked.accept,
    },
    log: openLogLines(io, "warn"),
    home,
  });
  const listening = await composed.gateway
    .listen({ host: "127.0.0.1", port: options.port ?? 0 })
    .catch(async (error: unknown) => {
      await composed.close();
      throw error;
    });
  home.serves({ url: listening.url });
  for (const problem of await composed.doors.adjust()) process.emitWarning(problem);
  return {
    url: listening.url,
    key: composed.ownerKey().reveal(),
    async close() {
      home.stops();
      await composed.close(listening);
      home.leave();
    },
  };
}
