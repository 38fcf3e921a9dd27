import { mkdir, open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { bestEffort } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import type { CascadeId } from "../../../base/ids.ts";
import { remove } from "../../../base/node/move-file.ts";
import { replaceFile } from "../../../base/node/replace-file.ts";

/** No turn needs a note that is older than this. */
const oldMs = 30 * 24 * 3_600_000;
const maxReplacements = 8;

/** The session in which a conversation goes on. */
interface LastSession {
  readonly id: string;
  /** User messages of the conversation that count before those of this session: one that took another's place goes on with its numbers. */
  readonly before: number;
  readonly isDiscarded: boolean;
}

/**
 * Notes about sessions that a turn's log names. A note is on disk before the change that it describes:
 *
 * - Another session replaced this one. A session that the agent never stored cannot be prompted after a crash, so the prompt
 *   goes to a new one. After a second crash the note leads to the new session, and no third session gets the prompt.
 * - The session was discarded before the end of its turn was stored. A later process does not mistake it for a session that
 *   was never prompted.
 */
export class SessionNotes {
  readonly #folder: string;
  readonly #clock: Clock;
  #pruned = false;

  constructor(folder: string, clock: Clock) {
    this.#folder = join(folder, "moved-sessions");
    this.#clock = clock;
  }

  /** The session to use for this id: its replacement, else itself; undefined when it was discarded. */
  async current(sessionId: string): Promise<string | undefined> {
    const { id, isDiscarded } = await this.last(sessionId);
    return isDiscarded ? undefined : id;
  }

  /** The session that took its place last, else itself. */
  async last(sessionId: string): Promise<LastSession> {
    const { ids, before, isDiscarded } = await this.#chain(sessionId);
    return { id: ids.at(-1) ?? sessionId, before, isDiscarded };
  }

  /** Resolves once the note would survive a crash of the machine. `before`: as in `LastSession`. */
  async moved(from: string, to: string, before = 0): Promise<void> {
    await this.#write(from, `${before} ${to}`);
  }

  /** Resolves once the note would survive a crash of the machine. */
  async discarded(sessionId: string): Promise<void> {
    await this.#write(sessionId, "");
  }

  /** Removes the notes on the session and on the sessions that replaced it. */
  async forget(sessionId: string): Promise<void> {
    const { ids } = await this.#chain(sessionId);
    for (const id of ids.reverse()) await remove(this.#path(id));
  }

  async #chain(sessionId: string): Promise<Omit<LastSession, "id"> & { readonly ids: string[] }> {
    const ids = [sessionId];
    let before = 0;
    for (let at = sessionId; ids.length <= maxReplacements; ) {
      const next = await this.#read(at);
      if (next === undefined) break;
      if (next === "") return { ids, before, isDiscarded: true };
      const space = next.indexOf(" ");
      before = Number(next.slice(0, space));
      at = next.slice(space + 1);
      ids.push(at);
    }
    return { ids, before, isDiscarded: false };
  }

  async #write(sessionId: string, text: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.#prune();
    const path = this.#path(sessionId);
    await replaceFile(path, text, { flush: true });
    await bestEffort(syncFolder(this.#folder)); // Windows cannot, and does not need it
  }

  /** Removes old notes, once for each start of the gateway. */
  async #prune(): Promise<void> {
    if (this.#pruned) return;
    this.#pruned = true;
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const { mtimeMs } = await stat(path);
      if (mtimeMs < this.#clock.now() - oldMs) await remove(path);
    }
  }

  async #read(sessionId: string): Promise<string | undefined> {
    try {
      return await readFile(this.#path(sessionId), "utf8");
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  }

  #path(sessionId: string): string {
    return join(this.#folder, `session-${encodeURIComponent(sessionId)}`); // the prefix keeps `..` a name
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The id under which the rest of Millrace knows a session of an agent: `acp:<agent>:<session id>`. */
export function cascadeIdOf(agent: string, sessionId: string): CascadeId {
  return `acp:${agent}:${sessionId}` as CascadeId; // the one place that makes them
}

/** The session's id; undefined for an id of another agent or of no agent. */
export function sessionIdOf(agent: string, cascadeId: CascadeId | undefined): string | undefined {
  const prefix = `acp:${agent}:`;
  return cascadeId?.startsWith(prefix) === true && cascadeId.length > prefix.length
    ? cascadeId.slice(prefix.length)
    : undefined;
}
