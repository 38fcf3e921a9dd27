import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Step } from "./trace.ts";

const sector = 512;

type Change = Extract<Step, { kind: "write" | "truncate" }>;
type Naming = Extract<Step, { kind: "create" | "link" | "rename" | "unlink" }>;

interface File {
  /** What is on the medium. */
  durable: Buffer;
  /** What the system still holds in its memory, in order. */
  pending: Change[];
}

/** What became of the changes that were not flushed when the power went. */
export type Loss =
  /** The first so many of them (a fraction) reached the medium, in each file and of the names. */
  | { readonly kind: "suffix"; readonly kept: number }
  /** Each by itself did or did not; names in order. */
  | { readonly kind: "some"; readonly random: () => number }
  /** Each sector of each by itself did or did not; names in order. */
  | { readonly kind: "torn"; readonly random: () => number };

/**
 * A disk behind a cache that is lost with the power. A file is on the medium as of its last flush, a name (a file made, renamed,
 * removed) as of the folder's; of what came later any part may be. Names keep their order, as every journalling file
 * system does it; that flushing a file also brings its name to the medium, as most do, is not counted on.
 */
export class Disk {
  readonly #files = new Map<number, File>();
  #names = new Map<string, number>();
  #renamings: Naming[] = [];
  #version = 0;

  /** Grows with each change of what a loss of power may leave. */
  get version(): number {
    return this.#version;
  }

  /** How many changes are not flushed. */
  get unflushed(): number {
    let count = this.#renamings.length;
    for (const { pending } of this.#files.values()) count += pending.length;
    return count;
  }

  apply(step: Step): void {
    if (step.kind === "said") return;
    this.#version++;
    switch (step.kind) {
      case "create":
        this.#files.set(step.file, { durable: Buffer.alloc(0), pending: [] });
        this.#renamings.push(step);
        break;
      case "write":
      case "truncate":
        this.#files.get(step.file)?.pending.push(step);
        break;
      case "sync": {
        const file = this.#files.get(step.file);
        if (file === undefined) break;
        file.durable = changed(file.durable, file.pending);
        file.pending = [];
        break;
      }
      case "sync-names":
        this.#names = renamed(this.#names, this.#renamings);
        this.#renamings = [];
        break;
      case "link":
      case "rename":
      case "unlink":
        this.#renamings.push(step);
        break;
      default:
        step satisfies never;
    }
  }

  /** Writes what is on the medium after such a loss into a folder, which is emptied first. */
  leave(loss: Loss, folder: string): void {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const names = renamed(this.#names, this.#renamings.slice(0, countOf(loss, this.#renamings.length)));
    for (const [path, number] of names) {
      const file = this.#files.get(number);
      if (file !== undefined) writeFileSync(join(folder, basename(path)), left(file, loss), { mode: 0o600 });
    }
  }
}

function left({ durable, pending }: File, loss: Loss): Buffer {
  switch (loss.kind) {
    case "suffix":
      return changed(durable, pending.slice(0, countOf(loss, pending.length)));
    case "some":
      return changed(
        durable,
        pending.filter(() => loss.random() < 0.5),
      );
    case "torn":
      return changed(
        durable,
        pending.flatMap((change) => (change.kind === "write" ? sectorsOf(change, loss.random) : [change])),
      );
    default:
      return loss satisfies never;
  }
}

function countOf(loss: Loss, all: number): number {
  return Math.round(all * (loss.kind === "suffix" ? loss.kept : loss.random()));
}

/** Those sectors of a write that reached the medium. */
function sectorsOf({ file, offset, bytes }: Extract<Change, { kind: "write" }>, random: () => number): Change[] {
  const kept: Change[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = Math.min(sector - ((offset + at) % sector), bytes.length - at);
    if (random() < 0.5) kept.push({ kind: "write", file, offset: offset + at, bytes: bytes.subarray(at, at + size) });
    at += size;
  }
  return kept;
}

function changed(before: Buffer, changes: readonly Change[]): Buffer {
  if (changes.length === 0) return before;
  let size = before.length;
  let most = size;
  for (const change of changes) {
    size = change.kind === "truncate" ? change.size : Math.max(size, change.offset + change.bytes.length);
    most = Math.max(most, size);
  }
  const bytes = Buffer.alloc(most);
  before.copy(bytes);
  size = before.length;
  for (const change of changes) {
    if (change.kind === "truncate") {
      bytes.fill(0, change.size);
      ({ size } = change);
    } else {
      change.bytes.copy(bytes, change.offset);
      size = Math.max(size, change.offset + change.bytes.length);
    }
  }
  return bytes.subarray(0, size);
}

function renamed(names: ReadonlyMap<string, number>, renamings: readonly Naming[]): Map<string, number> {
  const after = new Map(names);
  for (const step of renamings) {
    if (step.kind === "create" || step.kind === "link") after.set(step.path, step.file);
    else if (step.kind === "unlink") after.delete(step.path);
    else {
      const file = after.get(step.from);
      after.delete(step.from);
      if (file !== undefined) after.set(step.to, file);
    }
  }
  return after;
}
