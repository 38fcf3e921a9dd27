import { createHash, randomBytes } from "node:crypto";
import { appendFileSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";

/** A turn that was asked for under a key. */
export interface KeyedTurn {
  readonly digest: string;
  readonly turnId: string;
  readonly createdAtMs: number;
}

/** A journal that is smaller is not worth the work of making it shorter; bytes. */
const smallBytes = 1 << 16;

/** What a caller's idempotency key is found by in the journal. It says nothing of the key. */
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

  /** Its size in bytes; undefined where there is none. */
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

  /** All that can be read of it. */
  read(): readonly KeyedTurn[] {
    return turnsIn(textOf(this.#path));
  }

  /** Drops the turns that are not to be kept. */
  compact(keeps: (turnId: string) => boolean): void {
    const draft = `${this.#path}.${randomBytes(6).toString("hex")}.draft`;
    try {
      const text = textOf(this.#path);
      const kept = turnsIn(text).filter(({ turnId }) => keeps(turnId));
      writeFileSync(draft, kept.map(lineOf).join("") + textOf(this.#path).slice(text.length), { mode: 0o600 });
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

function turnsIn(text: string): readonly KeyedTurn[] {
  const turns = new Map<string, KeyedTurn>();
  for (const line of text.split("\n")) {
    const [, digest, turnId, createdAtMs] = /^\+ ([\w-]{22}) (\S+) (\d+)$/.exec(line) ?? [];
    if (digest !== undefined && turnId !== undefined)
      turns.set(turnId, { digest, turnId, createdAtMs: Number(createdAtMs) });
    else if (line.startsWith("- ")) turns.delete(line.slice(2));
  }
  return [...turns.values()];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function digestOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("base64url").slice(0, 22);
}
