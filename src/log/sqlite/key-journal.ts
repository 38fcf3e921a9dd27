import { createHash, randomBytes } from "node:crypto";
import { appendFileSync, createReadStream, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";

/** A turn that was asked for under a key. */
export interface KeyedTurn {
  readonly digest: string;
  readonly turnId: string;
  readonly createdAtMs: number;
}

/** A journal that is smaller is not worth the work of making it shorter; bytes. */
const smallBytes = 1 << 16;

/** How many turns are looked up in one turn of the event loop: a few milliseconds. */
const turnsAtOnce = 500;

/** The journal's digest of a caller's idempotency key. The key cannot be read from it. */
export function digestOfKey(caller: string, keyIndex: string): string {
  return digestOf("key", caller, keyIndex);
}

/** The same for a numbered message of a stream, whose number does the work of a key. */
export function digestOfMessage(streamId: string, seqno: number): string {
  return digestOf("message", streamId, String(seqno));
}

/**
 * The keys of a log's turns, in a file of lines beside it (`-keys`), so that a damaged log still knows which keys were used. A line is
 * written before the turn's prompt is sent. One that cannot be written is left out: the log holds the key as well.
 */
export class KeyJournal {
  readonly #path: string;
  #compactedBytes = 0;

  /** `path`: the log's file. */
  constructor(path: string) {
    this.#path = `${path}-keys`;
  }

  /** The file's size in bytes; undefined without a file. */
  get bytes(): number | undefined {
    return statSync(this.#path, { throwIfNoEntry: false })?.size;
  }

  /** Whether its size suggests that many of its lines are about removed turns. */
  get isLong(): boolean {
    return (this.bytes ?? 0) > smallBytes + 2 * this.#compactedBytes;
  }

  add(turns: readonly KeyedTurn[]): void {
    this.#append(turns.map(lineOf).join(""));
  }

  /** The turn was taken out of the log on purpose: its key is free. */
  removed(turnId: string): void {
    this.#append(`- ${turnId}\n`);
  }

  /** Every key that can be read. */
  read(): readonly KeyedTurn[] {
    const turns = new Map<string, KeyedTurn>();
    readLines(textOf(this.#path).split("\n"), turns);
    return [...turns.values()];
  }

  /** Drops the turns that are not to be kept, a few at a time: a journal may have a hundred thousand. */
  async compact(keeps: (turnId: string) => boolean): Promise<void> {
    const draft = `${this.#path}.${randomBytes(6).toString("hex")}.draft`;
    try {
      const { ino } = statSync(this.#path);
      const turns = new Map<string, KeyedTurn>();
      let [read, rest] = [0, ""];
      for await (const chunk of createReadStream(this.#path, { encoding: "latin1" })) {
        read += chunk.length;
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        readLines(lines, turns);
      }
      const kept: string[] = [];
      let looked = 0;
      for (const turn of turns.values()) {
        if (keeps(turn.turnId)) kept.push(lineOf(turn));
        if (++looked % turnsAtOnce === 0) await nextTurn();
      }
      await writeFile(draft, kept.join(""), { mode: 0o600 });
      if (statSync(this.#path).ino !== ino) throw new Error("another process has made it shorter");
      appendFileSync(draft, textOf(this.#path, read), "latin1"); // what was added meanwhile
      this.#compactedBytes = statSync(draft).size;
      renameSync(draft, this.#path);
    } catch {
      rmSync(draft, { force: true }); // a longer journal does no harm
    }
  }

  forget(): void {
    rmSync(this.#path, { force: true });
  }

  #append(text: string): void {
    try {
      appendFileSync(this.#path, text, { mode: 0o600 });
    } catch {
      // as on a full disk
    }
  }
}

function lineOf({ digest, turnId, createdAtMs }: KeyedTurn): string {
  return `+ ${digest} ${turnId} ${createdAtMs}\n`;
}

function readLines(lines: readonly string[], turns: Map<string, KeyedTurn>): void {
  for (const line of lines) {
    const [, digest, turnId, createdAtMs] = /^\+ ([\w-]{22}) (\S+) (\d+)$/.exec(line) ?? [];
    if (digest !== undefined && turnId !== undefined)
      turns.set(turnId, { digest, turnId, createdAtMs: Number(createdAtMs) });
    else if (line.startsWith("- ")) turns.delete(line.slice(2));
  }
}

/** From that byte on; empty where it cannot be read. */
function textOf(path: string, from = 0): string {
  try {
    return readFileSync(path, "latin1").slice(from);
  } catch {
    return "";
  }
}

function digestOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("base64url").slice(0, 22);
}
