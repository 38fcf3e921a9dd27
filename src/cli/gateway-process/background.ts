import { spawn } from "node:child_process";
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { bestEffort } from "../../base/async.ts";
import { type ErrorRecord, MillraceError } from "../../base/errors.ts";
import { parseJson } from "../../base/json.ts";
import { childEnvironment } from "../../base/node/child-environment.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { startMs } from "../../base/node/gateway-proof.ts";
import { removeIfThere } from "../../base/node/move-file.ts";
import type { CommandContext } from "../command.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import type { GatewayClient } from "./gateway-client.ts";
import type { GatewayFile } from "./gateway-file.ts";
import { readKey } from "./key-file.ts";

/** Variable that names the program that started the gateway. */
export const startedByVariable = "MILLRACE_STARTED_BY";

type StartedBy = NonNullable<GatewayFile["startedBy"]>;

export function startedBy(env: Readonly<Record<string, string | undefined>>): StartedBy {
  const value = env[startedByVariable];
  return value === "background" || value === "service" || value === "command" ? value : "terminal";
}

/** The last line that a gateway prints at its start. */
export function howToStop(by: StartedBy): string {
  return `${by === "terminal" ? "Ctrl-C" : "`millrace stop`"} stops it. A turn that still runs continues at the next start.`;
}

const lookEveryMs = 50;

/**
 * Starts the same command line as a separate process that outlives this one and the terminal. Prints the start-up output of that
 * process, or the text that `shown` makes of it. If the process ends instead, returns its exit code. A caller that has the variable
 * MILLRACE_STARTED_BY=command gets a gateway that ends when it is idle.
 *
 * @throws MillraceError `upstream_timeout` when it prints nothing for a minute; it is stopped then.
 */
export async function startInBackground(
  argv: readonly string[],
  context: CommandContext,
  shown: (lines: readonly string[]) => readonly string[] = (lines) => lines,
): Promise<number> {
  const { io, out } = context;
  const by = startedBy(io.env) === "command" ? "command" : "background";
  const words = argv.filter((word) => word !== "--background");
  const { printed, code } = await launch(words, context, by);
  for (const line of shown(printed.split("\n").slice(0, -1))) out.prose(line);
  return code ?? exitCodes.ok;
}

const failureSchema = z.object({ error: z.looseObject({ code: z.string(), message: z.string() }) });

/**
 * Starts a gateway for a command that needs one. It ends by itself when it is idle (`idle-end.ts`). `words`: its command line.
 *
 * @throws MillraceError the gateway's own reason why it cannot start, and as `startInBackground`.
 */
export async function startForCommand(words: readonly string[], context: CommandContext): Promise<GatewayClient> {
  const { printed, code } = await launch([...words, "--json"], context, "command");
  const ready = readySchema.safeParse(parsed(printed));
  const key = ready.success ? readKey(context.settings.keyFile) : undefined;
  if (ready.success && key !== undefined) return { url: ready.data.url, key };
  const failure = failureSchema.safeParse(parsed(printed));
  if (failure.success) throw MillraceError.fromRecord(failure.data.error as unknown as ErrorRecord); // the same program wrote it
  throw new MillraceError("upstream_failed", `The gateway did not start: it ended with code ${code ?? 0}.`, {
    hint: "`millrace serve` shows its start on this terminal.",
  });
}

/** V8 would take up to 128 MB for its young generation, and keep them. */
const nodeFlags = process.versions["bun"] === undefined ? ["--max-semi-space-size=8"] : [];

/** Starts the program with these words, and waits until it serves or has ended: then `code` is its exit code. Shows its notes. */
async function launch(
  words: readonly string[],
  { io, out, settings, signal }: CommandContext,
  by: StartedBy,
): Promise<{ readonly printed: string; readonly code: number | undefined }> {
  const { files, stdout, stderr } = openStartFiles(settings.folder);
  const ended: { code: number | undefined } = { code: undefined };
  const child = spawn(process.execPath, [...nodeFlags, ...process.execArgv, process.argv[1] ?? "", ...words], {
    detached: true,
    stdio: ["ignore", stdout, stderr],
    env: childEnvironment("own", io.env, io.platform, { set: { [startedByVariable]: by } }),
    windowsHide: true,
  });
  child.once("error", () => (ended.code = exitCodes.internal));
  child.once("exit", (code) => (ended.code = code ?? exitCodes.internal));
  closeSync(stdout);
  closeSync(stderr);
  try {
    const giveUpAtMs = io.clock.monotonic() + startMs;
    while (!isWhole(readFileSync(files.stdout, "utf8"), by) && ended.code === undefined) {
      if (signal.aborted || io.clock.monotonic() > giveUpAtMs) {
        child.kill();
        signal.throwIfAborted();
        throw new MillraceError("upstream_timeout", "The gateway did not start within a minute.", {
          hint: `${files.stderr} may say why. \`millrace serve\` shows its start on this terminal.`,
        });
      }
      await bestEffort(io.clock.sleep(lookEveryMs, signal));
    }
    out.talk(readFileSync(files.stderr, "utf8"));
    return { printed: readFileSync(files.stdout, "utf8"), code: ended.code };
  } finally {
    child.unref();
    removeIfThere(files.stdout);
  }
}

/** More than a gateway prints at its start. */
const roomBytes = 64 * 1024;

/**
 * The files that a gateway in the background prints to. Throws the file system's errors before anything is started or stopped: on a full
 * disk a gateway could not say why it ended.
 */
function openStartFiles(folder: string) {
  const logs = join(folder, "logs");
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const files = { stdout: join(logs, `start-${process.pid}.out`), stderr: join(logs, "gateway.err") };
  const opened: number[] = [];
  try {
    for (const file of Object.values(files)) opened.push(openSync(file, "a", 0o600));
    const [stdout = -1, stderr = -1] = opened;
    writeFileSync(stdout, Buffer.alloc(roomBytes)); // until all is written, where `writeSync` may write a part
    for (const each of opened) ftruncateSync(each);
    return { files, stdout, stderr };
  } catch (error) {
    for (const each of opened) closeSync(each);
    removeIfThere(files.stdout);
    throw fileProblem(error, files.stdout) ?? error;
  }
}

/** Throws, as `openStartFiles`, where a gateway could not be started in the background. */
export function checkStartFiles(folder: string): void {
  const { files, stdout, stderr } = openStartFiles(folder);
  closeSync(stdout);
  closeSync(stderr);
  removeIfThere(files.stdout);
}

/** Whether a gateway has printed its whole start-up output: the line of JSON about its address, or the line about stopping it. */
function isWhole(text: string, by: StartedBy): boolean {
  return text.endsWith("\n") && (readySchema.safeParse(parsed(text)).success || text.includes(howToStop(by)));
}

const readySchema = z.object({ url: z.string() });

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined; // lines for a person, or a part
  }
}
