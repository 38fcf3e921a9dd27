import type { Clock } from "../../base/clock.ts";
import type { HolderLook, Host, HostResult } from "../host/host.ts";

/** Facts found at discovery that must still hold when a credential is about to be sent. */
export interface Holder {
  readonly pid: number;
  readonly startedAtMs: number | undefined;
  readonly host: string;
  readonly port: number;
}

const loopback: ReadonlySet<string> = new Set(["127.0.0.1", "::1"]);

export function isLoopbackAddress(address: string): boolean {
  return loopback.has(address);
}

/** Whether a process may get a credential: it runs, on this machine's network, as this user. */
export function checkOwner(row: NonNullable<HolderLook["row"]>): HostResult<undefined> {
  if (row.zombie) return { ok: false, why: "has ended and waits to be collected by its parent" };
  if (row.elsewhere !== undefined) return { ok: false, why: row.elsewhere };
  if (row.owner === "other") return { ok: false, why: "belongs to another user; run millrace as the user of the IDE" };
  if (row.owner === "unknown") return { ok: false, why: "the system does not say whose process it is" };
  return { ok: true, value: undefined };
}

const mostTries = 3;
const tickMs = 100;
const blockedMs = 1_000;

/**
 * Asks the system again whether only that process, of this user, listens on that loopback port. A credential is sent only after
 * a yes. On systems that answer at once, a busy process cannot delay the check. On systems where the check starts programs, a no
 * is checked again, twice at most, if this process was too busy to read a yes in time: a row of docs/dev/turn-machine.md.
 */
export async function verifyHolder(
  host: Host,
  holder: Holder,
  clock: Clock,
  signal: AbortSignal,
): Promise<HostResult<undefined>> {
  if (!isLoopbackAddress(holder.host)) return { ok: false, why: "the address is not loopback" };
  if (host.lookNow !== undefined) return judge(host.lookNow(holder.pid, holder.port), holder);
  for (let tries = 1; ; tries++) {
    const watch = watchLoop(clock);
    let verdict: HostResult<undefined>;
    try {
      verdict = judge(await look(host, holder.pid, signal), holder);
    } finally {
      watch.stop();
    }
    if (verdict.ok || tries === mostTries || watch.blockedMs() < blockedMs) return verdict;
  }
}

async function look(host: Host, pid: number, signal: AbortSignal): Promise<HolderLook> {
  const row = await host.readProcess(pid, signal);
  if (row === undefined || !checkOwner(row).ok) return { row, sockets: { ok: true, value: [] } };
  return { row, sockets: await host.listListening(pid, signal) };
}

function judge({ row, sockets }: HolderLook, holder: Holder): HostResult<undefined> {
  if (row === undefined) return { ok: false, why: "the process has ended" };
  const owner = checkOwner(row);
  if (!owner.ok) return owner;
  if (row.startedAtMs !== holder.startedAtMs)
    return { ok: false, why: "the process has ended; another one has its number" };
  if (!sockets.ok) return sockets;
  const socket = sockets.value.find((own) => own.port === holder.port && own.address === holder.host);
  if (socket === undefined) return { ok: false, why: "the process no longer listens on that port" };
  return socket.shared
    ? { ok: false, why: "another process listens on the same port too" }
    : { ok: true, value: undefined };
}

/** Counts short sleeps; time that they do not explain is time in which this process did not run. */
function watchLoop(clock: Clock): { blockedMs(): number; stop(): void } {
  const ended = new AbortController();
  const startedAtMs = clock.monotonic();
  let ticks = 0;
  const tick = (): Promise<void> =>
    clock.sleep(tickMs, ended.signal).then(
      () => {
        ticks++;
        return tick();
      },
      () => {},
    );
  void tick();
  return {
    blockedMs: () => clock.monotonic() - startedAtMs - (ticks + 1) * tickMs,
    stop: () => ended.abort(new Error("checked")),
  };
}
