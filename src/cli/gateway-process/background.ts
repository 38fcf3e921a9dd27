import { spawn } from "node:child_process";
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { childEnvironment } from "../../base/node/child-environment.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { removeIfThere } from "../../base/node/replace-file.ts";
import type { CommandContext } from "../command.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import type { GatewayFile } from "./gateway-file.ts";

/** Variable that names the program that started the gateway. */
export const startedByVariable = "MILLRACE_STARTED_BY";

type StartedBy = NonNullable<GatewayFile["startedBy"]>;

export function startedBy(env: Readonly<Record<string, string | undefined>>): StartedBy {
  const value = env[startedByVariable];
  return value === "background" || value === "service" ? value : "terminal";
}

/** The last line that a gateway prints at its start. */
export function howToStop(by: StartedBy): string {
  return `${by === "terminal" ? "Ctrl-C" : "`millrace stop`"} stops it. A turn that still runs continues at the next start.`;
}

const lookEveryMs = 50;
/** How long a gateway may take until it reports that it listens. */
const startMs = 60_000;

/**
 * Starts the same command line as a separate process that outlives this one and the terminal. Prints the start-up output of that
 * process, or the text that `shown` makes of it. If the process ends instead, returns its exit code.
 *
 * @throws MillraceError `upstream_timeout` when it prints nothing for a minute; it is stopped then.
 */
export async function startInBackground(
  argv: readonly string[],
  context: CommandContext,
  shown: (lines: readonly string[]) => readonly string[] = (lines) => lines,
): Promise<number> {
  const { io, out, settings, signal } = context;
  const { files, stdout, stderr } = openStartFiles(settings.folder);
  const ended: { code: number | undefined } = { code: undefined };
  const words = argv.filter((word) => word !== "--background");
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", ...words], {
    detached: true,
    stdio: ["ignore", stdout, stderr],
    env: childEnvironment("own", io.env, io.platform, { set: { [startedByVariable]: "background" } }),
    windowsHide: true,
  });
  child.once("error", () => (ended.code = exitCodes.internal));
  child.once("exit", (code) => (ended.code = code ?? exitCodes.internal));
  closeSync(stdout);
  closeSync(stderr);
  try {
    const giveUpAtMs = io.clock.monotonic() + startMs;
    while (!isWhole(readFileSync(files.stdout, "utf8")) && ended.code === undefined) {
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
    for (const line of shown(readFileSync(files.stdout, "utf8").split("\n").slice(0, -1))) out.prose(line);
    return ended.code ?? exitCodes.ok;
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

/** Whether a gateway has printed its whole start-up output: a line of JSON, or the line about stopping it. */
function isWhole(text: string): boolean {
  return text.endsWith("\n") && (text.startsWith("{") || text.includes(howToStop("background")));
}
