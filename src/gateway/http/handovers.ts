import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { bestEffort } from "../../base/async.ts";
import { lookAtSockets, type PortPair } from "./linux-sockets.ts";

/**
 * Answers that the operating system has taken and whose clients may not have read them. A client that dies with an answer unread asks
 * again, and must be given that answer and no new prompt.
 */
export interface Handovers {
  /** Called for a request over this connection: its client has read every earlier answer on it. */
  accept(request: Request, socket: Socket): void;
  /**
   * Called when the operating system has the whole answer to `request`. Calls `delivered` once the client has read the answer, at once
   * if that cannot be known, and never if the connection broke before. `asked` identifies caller and question.
   */
  hold(request: Request, asked: string, delivered: () => Promise<void>): Promise<void>;
  /** Resolves once it is known of all held answers to the same question whether they were read. */
  settle(asked: string): Promise<void>;
  /** Checks the pending handovers one last time; no callback runs after it. */
  close(): Promise<void>;
}

interface Held {
  readonly asked: string;
  readonly socket: Socket;
  readonly ports: PortPair;
  readonly delivered: () => Promise<void>;
  readonly onClose: () => void;
  /** While it is stored that the answer was delivered. */
  noting?: Promise<void>;
}

/** A client that reads has read by then; also how long after its answer a connection is looked at, ms. */
const readSoonMs = 100;
const lookAfterMs = 2_000;

/** On other systems an answer counts as delivered once the operating system has it: the evidence of a closed connection differs too much. */
const canTell = process.platform === "linux";

export function openHandovers(): Handovers {
  return new OpenHandovers();
}

class OpenHandovers implements Handovers {
  readonly #sockets = new WeakMap<Request, Socket>();
  readonly #bySocket = new Map<Socket, Held>();
  readonly #byAsked = new Map<string, Set<Held>>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  accept(request: Request, socket: Socket): void {
    const held = this.#bySocket.get(socket);
    if (held !== undefined) this.#wasRead(held);
    this.#sockets.set(request, socket);
  }

  async hold(request: Request, asked: string, delivered: () => Promise<void>): Promise<void> {
    const socket = this.#sockets.get(request);
    const { localPort: ours, remotePort: theirs } = socket ?? {};
    const isKnown = canTell && !this.#closed && socket !== undefined && ours !== undefined && theirs !== undefined;
    if (!isKnown) return bestEffort(delivered()); // a store that fails now costs a client that repeats itself an answer given twice
    const held: Held = { asked, socket, ports: { ours, theirs }, delivered, onClose: () => this.#onClose(held) };
    const same = this.#byAsked.get(asked) ?? new Set();
    this.#byAsked.set(asked, same.add(held));
    this.#bySocket.set(socket, held);
    if (socket.closed) held.onClose();
    else socket.once("close", held.onClose);
    this.#lookLater();
  }

  async settle(asked: string): Promise<void> {
    const same = this.#byAsked.get(asked);
    if (same === undefined) return;
    await this.#look(same);
    if (undecided(same).length > 0) {
      await sleep(readSoonMs);
      await this.#look(same);
    }
    await Promise.all([...same].flatMap(({ noting }) => noting ?? []));
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#look(this.#bySocket.values());
    this.#closed = true;
    const noting = [...this.#byAsked.values()].flatMap((same) => [...same].flatMap((held) => held.noting ?? []));
    for (const held of this.#bySocket.values()) this.#forget(held);
    await Promise.all(noting);
  }

  /** A reset means that something was left unread. If this end closed first, the kernel's table still knows. */
  #onClose(held: Held): void {
    const { socket } = held;
    if (socket.errored) this.#forget(held);
    else if (socket.readableEnded) this.#wasRead(held);
    else this.#lookLater();
  }

  #lookLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#lookAtAll();
    }, lookAfterMs).unref();
  }

  /** Looks at every open and unread answer again, when its request is repeated or its connection closes. */
  async #lookAtAll(): Promise<void> {
    const closedBefore = [...this.#bySocket.values()].filter(({ socket }) => socket.closed);
    await this.#look(this.#bySocket.values());
    for (const held of closedBefore) if (held.noting === undefined) this.#forget(held);
  }

  async #look(some: Iterable<Held>): Promise<void> {
    const open = undecided(some);
    if (open.length === 0) return;
    const verdictOf = await lookAtSockets(open.map(({ ports }) => ports));
    for (const held of open) if (verdictOf === undefined || verdictOf(held.ports) === "read") this.#wasRead(held);
  }

  #wasRead(held: Held): void {
    if (held.noting !== undefined || !this.#byAsked.get(held.asked)?.has(held)) return;
    this.#leaveSocket(held);
    held.noting = bestEffort(held.delivered()).then(() => this.#forget(held));
  }

  #leaveSocket({ socket, onClose }: Held): void {
    socket.off("close", onClose);
    this.#bySocket.delete(socket);
  }

  #forget(held: Held): void {
    if (this.#bySocket.get(held.socket) === held) this.#leaveSocket(held);
    const same = this.#byAsked.get(held.asked);
    same?.delete(held);
    if (same?.size === 0) this.#byAsked.delete(held.asked);
  }
}

function undecided(some: Iterable<Held>): readonly Held[] {
  return [...some].filter(({ noting }) => noting === undefined);
}
