import { mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { bestEffort } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { readIfThere, syncFolder } from "../../../base/node/durable-file.ts";
import { remove } from "../../../base/node/move-file.ts";
import { replaceFile } from "../../../base/node/replace-file.ts";

/** No turn needs a note that is older than this. */
const oldMs = 30 * 24 * 3_600_000;
const maxReplacements = 8;

/**
 * Two things about a session that a turn's log names are noted on disk, before the change itself:
 *
 * - Another session replaced this one. A session that the agent never stored cannot be prompted after a crash, so the prompt
 *   goes to a new one. After a second crash the note leads to the new session, and no third session gets the prompt.
 * - The session was discarded before the end of its turn was stored. A later process does not mistake it for a session that
 *   was never prompted.
 */
export class MovedSessions {
  readonly #clock: Clock;
  readonly #folder: string;
  #pruned = false;

  /** `folder`: the agent's. */
  constructor(clock: Clock, folder: string) {
    this.#clock = clock;
    this.#folder = join(folder, "moved-sessions");
  }

  /**
   * The session that took the place of this one last, else itself. `before`: user messages of the conversation that count before those of that
   * session, which goes on with the numbers of the one whose place it took.
   */
  async last(sessionId: string) {
    const { ids, before, isDiscarded } = await this.#chain(sessionId);
    return { id: ids.at(-1) ?? sessionId, before, isDiscarded };
  }

  /** Resolves once the note would survive a crash of the machine. `before`: as of `last`. */
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

  async #chain(sessionId: string) {
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
    await replaceFile(this.#path(sessionId), text, { flush: true });
    await bestEffort(syncFolder(this.#folder));
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
    const bytes = await readIfThere(this.#path(sessionId));
    return bytes && new TextDecoder().decode(bytes);
  }

  #path(sessionId: string): string {
    return join(this.#folder, `session-${encodeURIComponent(sessionId)}`); // the prefix keeps `..` a name
  }
}
