/**
 * A small model of an idempotent stream: one server, a client that may crash, a second window of it, a connection that
 * may be cut. Pure data; `steps` answers every state that can follow. The algorithm is set by its fixes, so that the
 * checker can be held against the algorithm without them. Source: docs/dev/wire/idempotent-streams.md, "Client algorithm", "Hazards".
 */

/** The corrections that our algorithm makes; each closes one hazard. */
export interface Fixes {
  /** H1: the cursor is the low-water mark of finished work, and a running tool holds it back. */
  readonly cursorWaitsForWork: boolean;
  /** H2: a chunk is stored before it is sent. */
  readonly writeAhead: boolean;
  /** H3: an abort is numbered, stored and acknowledged like a chunk. */
  readonly numberedAbort: boolean;
  /** H4: an acknowledgement means durable. */
  readonly ackMeansDurable: boolean;
  /** H6: an attach says whether it creates or resumes; a resume of what is gone is answered `expired`. */
  readonly explicitIntent: boolean;
  /** H7: the newest attach fences the older one, and a record has one owner. */
  readonly attachEpochs: boolean;
}

export const allFixes: Fixes = {
  cursorWaitsForWork: true,
  writeAhead: true,
  numberedAbort: true,
  ackMeansDurable: true,
  explicitIntent: true,
  attachEpochs: true,
};

/** What may go wrong, and how often. */
export interface Faults {
  readonly cuts: number;
  readonly clientCrashes: number;
  readonly serverCrashes: number;
  readonly expiries: number;
  readonly secondWindows: number;
  /** Whether the user cancels at some point. */
  readonly aborts: number;
}

/** What the client sends: the request, the result of the tool, or an abort. `payload` tells two chunks of one number apart. */
export interface Chunk {
  readonly seqno: number | null;
  readonly payload: string;
}

/** What the server sends. Event 1 is a tool call, 2 text, 3 the end (after the tool's result was accepted). */
export type Message = { readonly event: number } | { readonly ack: number } | { readonly expired: true };

interface Saved {
  readonly next: number;
  readonly unacked: readonly Chunk[];
  readonly cursor: number;
  readonly tool: Tool;
}

/** The tool that event 1 asks for: not seen, running, its result handed to the stream. */
type Tool = "none" | "running" | "sent";

export interface Client extends Saved {
  readonly phase: "idle" | "detached" | "attached" | "down" | "done" | "aborted" | "expired" | "fenced";
  /** Chunks the application gave, waiting for their second half (store after send, or send after store). */
  readonly half: Chunk | null;
  readonly out: readonly Chunk[];
  readonly in: readonly Message[];
  readonly epoch: number;
  /** Sets the payloads of one life of a process apart from those of another. */
  readonly life: string;
}

interface ServerMemory {
  readonly known: boolean;
  readonly accepted: readonly Chunk[];
  readonly events: number;
  readonly aborted: boolean;
}

export interface State {
  readonly clients: readonly Client[];
  readonly saved: Saved | null;
  readonly server: ServerMemory;
  readonly durable: ServerMemory;
  readonly epoch: number;
  readonly generations: number;
  readonly faults: Faults;
  /** Set by the step that broke an invariant. */
  readonly broken: string | null;
}

export interface Step {
  readonly label: string;
  readonly state: State;
  /** Nobody has to do it: a fault, or the user's cancel. A stream must not depend on it. */
  readonly optional: boolean;
}

export const nothing: ServerMemory = { known: false, accepted: [], events: 0, aborted: false };
export const lastEvent = 3;

export function fresh(life: string): Client {
  return { phase: "idle", next: 0, unacked: [], cursor: 0, tool: "none", half: null, out: [], in: [], epoch: 0, life };
}

export function initial(faults: Faults): State {
  return {
    clients: [fresh("")],
    saved: null,
    server: nothing,
    durable: nothing,
    epoch: 0,
    generations: 0,
    faults,
    broken: null,
  };
}

export function save({ next, unacked, cursor, tool }: Client): Saved {
  return { next, unacked, cursor, tool };
}

/** A process that starts from the record. A tool that ran when the process died is asked for again by a replay of its call. */
export function revive(client: Client, saved: Saved): Client {
  return { ...client, ...saved, tool: saved.tool === "running" ? "none" : saved.tool, phase: "detached" };
}

export function spell({ seqno, payload }: Chunk): string {
  return seqno === null ? payload : `number ${seqno} (${payload})`;
}
