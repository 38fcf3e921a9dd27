import { existsSync } from "node:fs";
import { access, constants, readdir, stat, statfs } from "node:fs/promises";
import { release } from "node:os";
import { basename, dirname } from "node:path";
import { isMillraceError, toMillraceError } from "../../base/errors.ts";
import { barrierTo, keepToYourself, lookAt } from "../../base/node/file-access.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { openRedisRows } from "../../log/redis.ts";
import { inspectLogFile, type LogFileState } from "../../log/sqlite/open-file.ts";
import { findGateway, readHealth, storeProblemOf } from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { readKey } from "../gateway-process/key-file.ts";
import { readKeys } from "../keys/key-record.ts";
import type { RedisAddress } from "../options.ts";
import { version } from "../package-files.ts";
import { lostPrograms } from "../service/service-spec.ts";
import type { Settings } from "../settings.ts";
import { type Finding, finding } from "../terminal/finding.ts";
import { spellBytes, spellCount } from "../terminal/spell.ts";

const fewBytes = 1024 ** 3;
const tooFewBytes = 100 * 1024 ** 2;

/** Size and soundness of the event log, and the room it has. */
export async function checkStore(settings: Settings) {
  const file = settings.storeFile;
  const state = await inspectLogFile(file).catch((error: unknown): LogFileState => {
    if (fileProblem(error) === undefined) throw error;
    return { kind: "unreadable", bytes: 0, why: "its folder is closed" };
  });
  const freeBytes = await freeAt(dirname(file));
  const problem = await writeProblem(dirname(file));
  const bytes = state.kind === "missing" ? 0 : state.bytes;
  return {
    file,
    state: state.kind,
    bytes,
    free_bytes: freeBytes ?? null,
    findings:
      problem === undefined ? [findingOf(file, state), ...(await copiesOf(file)), ...roomOf(freeBytes)] : [problem],
  };
}

/** Why nothing can be written to the folder, or to the nearest one above it that is there. Writes nothing. */
export async function writeProblem(folder: string): Promise<Finding | undefined> {
  try {
    await access(folder, constants.W_OK);
    return undefined;
  } catch (error) {
    const parent = dirname(folder);
    if ((error as NodeJS.ErrnoException).code === "ENOENT" && parent !== folder) return writeProblem(parent); // fs throws nothing else
    const problem = fileProblem(error);
    return problem && finding("store", "error", problem.message.replace(/\.$/, ""), problem.hint);
  }
}

function findingOf(file: string, state: LogFileState): Finding {
  const error = (what: string, todo: string) => finding("store", "error", what, todo);
  switch (state.kind) {
    case "missing":
      return finding("store", "note", "There is no store yet; the first start makes one");
    case "sound": {
      const open = state.openTurns > 0 ? `, ${state.openTurns} open` : "";
      const holds = `${spellBytes(state.bytes)}, ${spellCount(state.turns, "turn")}${open}`;
      return finding("store", "ok", `The store is sound: ${holds}`);
    }
    case "damaged": {
      const todo = "Restart the gateway. It renames the damaged files and begins a new log.";
      return error(`The store ${file} is damaged: ${state.why}`, todo);
    }
    case "foreign":
      return error(
        `${file} ${state.why}`,
        "Set MILLRACE_HOME to a folder of Millrace's own. Leave that file as it is.",
      );
    case "unreadable": {
      const files = [file, `${file}-wal`, `${file}-shm`];
      const barrier = files.map((each) => barrierTo(each)).find((each) => each !== undefined);
      const what = `The store ${file} cannot be ${barrier?.cannot ?? "read"}: ${barrier?.why ?? state.why}`;
      return error(what, `${barrier?.hint ?? lookAt(file)} \`millrace serve --store memory\` works without it.`);
    }
    default:
      return state satisfies never;
  }
}

/** Damaged files that a gateway kept. */
async function copiesOf(file: string): Promise<readonly Finding[]> {
  const names = await readdir(dirname(file)).catch(() => []);
  const copies = names.filter((name) => name.startsWith(`${basename(file)}.damaged-`) && !/-(?:wal|shm)$/.test(name));
  if (copies.length === 0) return [];
  const what = `The store was damaged before. What stood there was kept as ${copies.join(", ")}`;
  return [finding("store", "note", what)];
}

function roomOf(freeBytes: number | undefined): readonly Finding[] {
  if (freeBytes === undefined || freeBytes >= fewBytes) return [];
  const what = `Only ${spellBytes(freeBytes)} are free where the store is`;
  const todo =
    "Free some space. Until then answers still work, but cannot be resumed. `millrace doctor --conversations --delete-older 7d` deletes the conversations that old turns left in the IDE.";
  return [finding("store", freeBytes < tooFewBytes ? "error" : "warning", what, todo)];
}

/** Bytes that this user may still write at the nearest folder that is there. */
async function freeAt(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    const parent = dirname(folder);
    return parent === folder ? undefined : freeAt(parent);
  }
}

/** Whether the Redis server that gateways share their turns in answers. It reads nothing there. */
export async function checkRedis({ url, shown }: RedisAddress) {
  const seen = { file: shown, bytes: 0, free_bytes: null };
  try {
    const rows = await openRedisRows({ url: url.reveal() });
    await rows.close();
    return { ...seen, state: "sound", findings: [finding("store", "ok", `The store ${shown} answers`)] };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const what = `${error.message} (${shown})`;
    return { ...seen, state: "unreadable", findings: [finding("store", "error", what, error.hint)] };
  }
}

/** Versions and the clock. `bin.ts` has refused a Node that is too old. */
export function checkMachine(nowMs: number) {
  return {
    millrace: version(),
    node: process.version,
    system: `${process.platform} ${release()} ${process.arch}`,
    clock: new Date(nowMs).toISOString(),
  };
}

/** Whether the other files of keys can be used: those for other programs, and the key that seals the log. */
export function checkOtherKeys({ keysFile, logKeyFile }: Settings): readonly Finding[] {
  const findings: Finding[] = [];
  try {
    readKeys(keysFile);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    findings.push(finding("key", "error", error.message, error.hint));
  }
  const barrier = existsSync(logKeyFile) ? barrierTo(logKeyFile) : undefined;
  if (barrier !== undefined)
    findings.push(
      finding("key", "error", `The log's key (${logKeyFile}) cannot be used: ${barrier.why}`, barrier.hint),
    );
  return findings;
}

/** Whether the gateway's key can be used, by this user only. `mode` is octal, as for `chmod`; null on Windows and without a file. */
export async function checkKey(settings: Settings, platform: NodeJS.Platform) {
  const file = settings.keyFile;
  const mode = platform === "win32" ? undefined : await modeOf(file);
  const found = { file, exists: true, mode: mode?.toString(8) ?? null };
  try {
    if (readKey(file) === undefined) {
      const canBeMade = (await writeProblem(dirname(file))) === undefined; // else the store's finding says why not
      const findings = canBeMade ? [finding("key", "note", "There is no key yet; the first start makes one")] : [];
      return { file, exists: false, mode: null, findings };
    }
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { ...found, findings: [finding("key", "error", error.message, error.hint)] };
  }
  const folderMode = platform === "win32" ? undefined : await modeOf(settings.folder);
  const readers = platform === "win32" ? "who else may read it was not checked" : "readable by this user alone";
  const good = finding("key", "ok", `The key is in ${file}, ${readers}`);
  if (folderMode === undefined || (folderMode & 0o022) === 0) return { ...found, findings: [good] };
  const open = `Others may write to ${settings.folder} (mode ${folderMode.toString(8)})`;
  return { ...found, findings: [good, finding("key", "warning", open, keepToYourself(settings.folder, "700"))] };
}

async function modeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ mode }) => mode & 0o777,
    () => undefined, // not there
  );
}

/** Whether the files that the installed service runs are there. */
export function checkService(folder: string): readonly Finding[] {
  return lostPrograms(folder).map((file) =>
    finding(
      "gateway",
      "error",
      `The service runs ${file}, which is not there any more, as after an upgrade of Node`,
      "Type `millrace service install` again.",
    ),
  );
}

/** Whether a gateway of this user runs; none is asked without its key. */
export async function checkGateway(settings: Settings, hasKey: boolean, signal: AbortSignal) {
  const none = { running: false, url: null, version: null, pid: null };
  if (!hasKey) return { ...none, findings: [] };
  try {
    const ours = await findGateway(settings, signal);
    const written = readGatewayFile(settings.gatewayFile);
    if (ours === undefined || written === undefined)
      return { ...none, findings: [finding("gateway", "note", "No gateway runs", "Start it with `millrace serve`.")] };
    const store = storeProblemOf(await readHealth(ours, signal).catch(() => ({})));
    const other = `The gateway that runs is of version ${written.version}, this command of ${version()}`;
    const findings = [
      finding("gateway", "ok", `A gateway runs at ${ours.url}`),
      ...(store === undefined
        ? []
        : [finding("store", "error", `Its log: ${store.what.replace(/\.$/, "")}`, store.todo)]),
      ...(written.version === version()
        ? []
        : [
            finding(
              "gateway",
              "warning",
              other,
              "`millrace restart` starts this version, and running answers continue.",
            ),
          ]),
    ];
    return { running: true, url: ours.url, version: written.version, pid: written.pid, findings };
  } catch (error) {
    signal.throwIfAborted();
    const { message, hint } = toMillraceError(error);
    return { ...none, findings: [finding("gateway", "error", message, hint)] };
  }
}
