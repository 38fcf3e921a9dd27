import { createHash } from "node:crypto";
import { closeSync, constants, openSync, readFileSync, rmSync, writeSync } from "node:fs";

/** The last flushed commit that a process knows of. */
export interface CommitNote {
  /** Which log it was: a file that is made anew has another one. */
  readonly logId: string;
  /** How many flushed commits the log had. */
  readonly commits: number;
  /** When, epoch ms. */
  readonly atMs: number;
}

export function notePathOf(path: string): string {
  return `${path}-note`;
}

/** The note beside a log; undefined if there is no complete one. */
export function readCommitNote(path: string): CommitNote | undefined {
  try {
    const text = readFileSync(notePathOf(path), "latin1");
    const [, body = "", logId = "", commits, atMs, sum] = /^((\S+) (\d+) (\d+)) (\S+)\n/.exec(text) ?? [];
    return sum !== undefined && sum === sumOf(body)
      ? { logId, commits: Number(commits), atMs: Number(atMs) }
      : undefined;
  } catch {
    return undefined; // no note says nothing
  }
}

export function removeNote(path: string): void {
  rmSync(notePathOf(path), { force: true });
}

/**
 * Stores beside the log how far it was committed. When the log is opened, it is compared with this note, because SQLite silently
 * ends its WAL at the first invalid frame. The note is written after the commit was flushed, so a power cut never leaves it ahead
 * of the log. A note that cannot be written is skipped: an old note does no harm.
 */
export class NoteWriter {
  readonly #path: string;
  #descriptor: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  write({ logId, commits, atMs }: CommitNote): void {
    const body = `${logId} ${String(commits).padStart(16, "0")} ${String(Math.trunc(atMs)).padStart(14, "0")}`;
    try {
      this.#descriptor ??= openSync(notePathOf(this.#path), constants.O_RDWR | constants.O_CREAT, 0o600);
      writeSync(this.#descriptor, `${body} ${sumOf(body)}\n`, 0, "latin1");
    } catch {
      this.close();
    }
  }

  /** The next note is written to the file that stands there then. */
  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

function sumOf(body: string): string {
  return createHash("sha256").update(body).digest("base64url").slice(0, 12);
}
