import type { CascadeId } from "../src/base/ids.ts";
import { Notifier } from "../src/base/notifier.ts";

/** A user message that the server accepted, as it came over the wire. */
export interface AcceptedMessage {
  readonly cascadeId: CascadeId;
  readonly text: string;
  readonly instructions: string;
  readonly images: readonly { readonly mimeType: string; readonly base64: string }[];
  readonly modelUid: string;
  readonly plannerMode: number;
  readonly maxOutputTokens: number;
  readonly requestId: string;
  readonly queued: boolean;
}

/** One conversation as it stands. */
export interface CascadeReport {
  readonly cascadeId: CascadeId;
  readonly trajectoryId: string;
  readonly status: "idle" | "running" | "canceling" | "busy";
  readonly steps: number;
  readonly messages: number;
  /** Turns that ended in any way. */
  readonly turnsEnded: number;
  readonly archived: boolean;
  /** Its file is being written or about to be: a crash now would leave an older state on disk. */
  readonly writing: boolean;
}

/** The server's activity since its process started. Counts are of calls, not of bytes. */
export interface Report {
  /** Rises with every change. */
  readonly version: number;
  readonly startedCascades: number;
  readonly messages: readonly AcceptedMessage[];
  /** Texts of messages that were refused in the call. */
  readonly refusedMessages: readonly string[];
  readonly cascades: readonly CascadeReport[];
  readonly deletedCascades: readonly CascadeId[];
  readonly cancels: readonly CascadeId[];
  readonly archives: readonly CascadeId[];
  /** Calls that reached an RPC, by its name; refused ones are in `refused`. */
  readonly calls: Readonly<Record<string, number>>;
  readonly refused: { readonly csrf: number; readonly path: number; readonly verb: number };
  /** The most polls of one cascade that were ever answered at the same time. */
  readonly mostPollsAtOnce: number;
  /** Content types that calls came in. */
  readonly contentTypes: Readonly<Record<string, number>>;
  /** The highest request id seen, and the number of ids that did not rise above it. */
  readonly requestIds: { readonly highest: string; readonly notRising: number };
}

/** A report that is still written. */
export type Growing<Report> = Report extends readonly (infer Entry)[]
  ? Entry[]
  : Report extends object
    ? { -readonly [Key in keyof Report]: Growing<Report[Key]> }
    : Report;

/** Collects the figures of a report. */
export class Observations {
  readonly figures: Growing<Omit<Report, "version" | "cascades">> = {
    startedCascades: 0,
    messages: [],
    refusedMessages: [],
    deletedCascades: [],
    cancels: [],
    archives: [],
    calls: {},
    refused: { csrf: 0, path: 0, verb: 0 },
    mostPollsAtOnce: 0,
    contentTypes: {},
    requestIds: { highest: "0", notRising: 0 },
  };
  #version = 0;
  readonly #changes = new Notifier();
  readonly #polls = new Map<string, number>();

  /** Something may be different now. */
  changed(): void {
    this.#version++;
    this.#changes.wake();
  }

  call(rpc: string, contentType: string): void {
    const { calls, contentTypes } = this.figures;
    calls[rpc] = (calls[rpc] ?? 0) + 1;
    contentTypes[contentType] = (contentTypes[contentType] ?? 0) + 1;
    this.changed();
  }

  requestId(id: bigint): void {
    const { requestIds } = this.figures;
    if (id === 0n) return;
    if (id > BigInt(requestIds.highest)) requestIds.highest = String(id);
    else requestIds.notRising++;
  }

  /** Counts a poll of a cascade as in flight until the returned function is called. */
  pollBegins(cascadeId: string): () => void {
    const now = (this.#polls.get(cascadeId) ?? 0) + 1;
    this.#polls.set(cascadeId, now);
    this.figures.mostPollsAtOnce = Math.max(this.figures.mostPollsAtOnce, now);
    return () => {
      const left = (this.#polls.get(cascadeId) ?? 1) - 1;
      if (left === 0) this.#polls.delete(cascadeId);
      else this.#polls.set(cascadeId, left);
    };
  }

  /** Resolves as soon as something is newer than `version`; at once if it is already. */
  async changedSince(version: number): Promise<void> {
    if (this.#version > version) return;
    await this.#changes.wait();
  }

  report(cascades: readonly CascadeReport[]): Report {
    return { version: this.#version, cascades, ...this.figures };
  }
}
