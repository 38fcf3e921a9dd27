import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { bestEffort } from "../../base/async.ts";

/**
 * Which session took the place of another one. A session that the agent never stored cannot be prompted after a crash, so
 * the prompt goes to a new one; the turn's log keeps the old id. The note is on disk before that prompt is sent: a second
 * crash finds the new session, and does not prompt a third one.
 */
export class SessionNotes {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = join(folder, "moved-sessions");
  }

  /** The session to use for this id: its replacement, else itself. */
  async current(sessionId: string): Promise<string> {
    let at = sessionId;
    for (let step = 0; step < 8; step++) {
      const next = await this.#read(at);
      if (next === undefined) break;
      at = next;
    }
    return at;
  }

  /** Resolves once the note would survive a crash of the machine. */
  async moved(from: string, to: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = this.#path(from);
    const file = await open(`${path}.new`, "w", 0o600);
    try {
      await file.writeFile(to);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
    await bestEffort(syncFolder(this.#folder)); // Windows cannot, and does not need it
  }

  async forget(sessionId: string): Promise<void> {
    await rm(this.#path(sessionId), { force: true });
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
