import { once } from "node:events";
import { existsSync } from "node:fs";
import { access, constants, readdir, stat, statfs } from "node:fs/promises";
import { connect } from "node:net";
import { release } from "node:os";
import { basename, dirname } from "node:path";
import { deadline } from "../../base/async.ts";
import { isMillraceError, toMillraceError } from "../../base/errors.ts";
import { barrierTo, keepToYourself, lookAt } from "../../base/node/file-access.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { openRedisRows } from "../../log/redis.ts";
import { inspectLogFile, type LogFileState } from "../../log/sqlite/open-file.ts";
import { lookForGateway, readHealth, silentGateway, storeProblemOf } from "../gateway-process/gateway-client.ts";
import { type GatewayFile, readGatewayFile } from "../gateway-process/gateway-file.ts";
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
  switch (state.kind) {
    case "missing":
      return finding("store", "note", "There is no store yet; the first start makes one");
    case "sound":
      return finding(
        "store",
        "ok",
        `The store is sound: ${spellBytes(state.bytes)}, ${spellCount(state.turns, "turn")}${state.openTurns > 0 ? `, ${state.openTurns} open` : ""}`,
      );
    case "damaged":
      return finding(
        "store",
        "error",
        `The store ${file} is damaged: ${state.why}`,
        "Restart the gateway. It renames the damaged files and begins a new log.",
      );
    case "foreign":
      return finding(
        "store",
        "error",
        `${file} ${state.why}`,
        "Set MILLRACE_HOME to a folder of Millrace's own. Leave that file as it is.",
      );
    case "unreadable": {
      const barrier = [file, `${file}-wal`, `${file}-shm`]
        .map((each) => barrierTo(each))
        .find((each) => each !== undefined);
      return finding(
        "store",
        "error",
        `The store ${file} cannot be ${barrier?.cannot ?? "read"}: ${barrier?.why ?? state.why}`,
        `${barrier?.hint ?? lookAt(file)} \`millrace serve --store memory\` works without it.`,
      );
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

/** No clock is right that is before this; epoch ms. */
const notBeforeMs = Date.UTC(2026, 0, 1);

/** Versions and the clock. `bin.ts` has refused a Node that is too old. */
export function checkMachine(nowMs: number) {
  const late = finding(
    "clock",
    "error",
    "The clock of this machine is before this version of Millrace was made",
    "Set the clock: resets, expiries and the ages of turns go by it.",
  );
  return {
    millrace: version(),
    node: process.version,
    system: `${process.platform} ${release()} ${process.arch}`,
    clock: new Date(nowMs).toISOString(),
    findings: nowMs < notBeforeMs ? [late] : [],
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

const connectLimitMs = 1_000;

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

/** Whether a gateway of this user runs, and whether its usual port is free for one. */
export async function checkGateway(settings: Settings, usualPort: number, ownVersion: string, signal: AbortSignal) {
  let written: GatewayFile | undefined;
  try {
    written = readGatewayFile(settings.gatewayFile);
  } catch (error) {
    const { message, hint } = toMillraceError(error);
    return {
      running: false,
      url: null,
      version: null,
      pid: null,
      findings: [finding("gateway", "error", message, hint)],
    };
  }
  const found = await runningGateway(settings, signal);
  if (found === "silent") {
    const { message, hint } = silentGateway(settings);
    const { url = null, version = null, pid = null } = written ?? {};
    return { running: true, url, version, pid, findings: [finding("gateway", "error", message, hint)] };
  }
  const ours = found === "stranger" ? undefined : found;
  if (ours === undefined || written === undefined) {
    const left =
      written === undefined
        ? []
        : found === "stranger"
          ? [
              finding(
                "gateway",
                "warning",
                `Another program answers at ${written.url}, where your gateway was. It gets no key from Millrace`,
                "Run `millrace serve`. Other clients cannot check who answers: stop that program, or set them up again.",
              ),
            ]
          : [finding("gateway", "note", `${settings.gatewayFile} is left over from a gateway that ended`)];
    const taken = `Port ${usualPort} is taken by another program`;
    const findings = [
      finding("gateway", "note", "No gateway runs", "Start it with `millrace serve`."),
      ...left,
      ...((await listens(usualPort, signal))
        ? [finding("gateway", "note", taken, "`millrace serve` takes another one and says which.")]
        : []),
    ];
    return { running: false, url: null, version: null, pid: null, findings };
  }
  const good = finding("gateway", "ok", `A gateway runs at ${ours.url}`);
  const other = `The gateway that runs is of version ${written.version}, this command of ${ownVersion}`;
  const isOther = written.version !== ownVersion;
  const store = storeProblemOf(await readHealth(ours, signal).catch(() => ({})));
  const findings = [
    good,
    ...(store === undefined
      ? []
      : [finding("store", "error", `Its log: ${store.what.replace(/\.$/, "")}`, store.todo)]),
    ...(isOther
      ? [finding("gateway", "warning", other, "`millrace restart` starts this version, and running answers continue.")]
      : []),
  ];
  return { running: true, url: ours.url, version: written.version, pid: written.pid, findings };
}

async function runningGateway(settings: Settings, signal: AbortSignal): ReturnType<typeof lookForGateway> {
  try {
    return await lookForGateway(settings, signal);
  } catch (error) {
    if (isMillraceError(error)) return undefined; // its key file cannot be used: the check of the key says so
    throw error;
  }
}

async function listens(port: number, signal: AbortSignal): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port });
  try {
    await once(socket, "connect", { signal: deadline(signal, connectLimitMs) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
