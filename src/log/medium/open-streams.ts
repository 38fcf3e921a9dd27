import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import { Secret } from "../../base/secret.ts";
import type { AcceptedMessage, AttachedStream, AttachIntent, AttachProof, StreamName } from "../client-stream.ts";
import type { Retention } from "../retention.ts";
import { superseded } from "../superseded.ts";
import type { LogCodec, TurnCodec } from "./codec.ts";
import type { AdmitOutcome, HolderRow, MessageRow, StreamMedium, TurnRow } from "./medium.ts";
import { damagedLog } from "./record-text.ts";

/** Stored for an attach without a ticket. */
const noTicket = "";
/** Stored as the life of a client that does not number its attaches. */
const notCounted = "";

interface Payload {
  readonly seqno: number;
  readonly base64: string;
}

/** Streams over a medium: seals clients' messages, and reports the outcome of each. */
export class Streams {
  readonly #medium: StreamMedium;
  readonly #codec: LogCodec;
  readonly #clock: Clock;
  readonly #retention: Retention;
  /** The codec that seals clients' messages on attached streams; dropped with the last reference to the stream's name. */
  readonly #sealing = new WeakMap<StreamName, TurnCodec>();

  constructor(medium: StreamMedium, codec: LogCodec, clock: Clock, retention: Retention) {
    this.#medium = medium;
    this.#codec = codec;
    this.#clock = clock;
    this.#retention = retention;
  }

  async attach(name: StreamName, intent: AttachIntent, { ticket, number }: AttachProof = {}): Promise<AttachedStream> {
    const streamId = this.#idOf(name);
    const asTurn = streamId as TurnId; // a codec only binds it to what it seals
    const next = new Secret(randomBytes(32).toString("base64url"));
    const made = this.#codec.newTurn(asTurn, name.clientKey);
    const nowMs = this.#clock.now();
    const fresh = {
      streamId,
      wrappedKey: this.#codec.closeKey(made.wrappedKey) ?? made.wrappedKey,
      epoch: 1,
      accepted: 0,
      ticket: this.#ticketIndex(streamId, next),
      ticketBefore: noTicket,
      life: number === undefined ? notCounted : this.#codec.index(`life:${streamId}:${number.life}`),
      attachNumber: number?.number ?? 0,
      expiresAtMs: nowMs + this.#retention.windowMs,
      erasedAtMs: undefined,
    };
    const given = ticket === undefined ? noTicket : this.#ticketIndex(streamId, ticket);
    const attached = await this.#medium.attachStream(fresh, { intent, given, nowMs });
    if (attached === "spent") throw spent();
    if (attached === "late") throw superseded();
    if (attached === undefined || attached.row.erasedAtMs !== undefined) throw expired();
    const { row, messages } = attached;
    const codec = this.#codec.openTurn({ turnId: asTurn, wrappedKey: row.wrappedKey }, name);
    if (codec === undefined) throw expired(); // the gateway's own key is another one now
    this.#sealing.set(name, codec);
    return {
      name,
      epoch: row.epoch,
      accepted: messages.map((message) => opened(codec, message)),
      expiresAtMs: row.expiresAtMs,
      nextTicket: intent === "observe" ? undefined : next,
      degraded: false,
    };
  }

  async admit(
    { name, epoch }: Pick<AttachedStream, "name" | "epoch">,
    { seqno, payload }: { readonly seqno: number; readonly payload: Uint8Array },
    turn: TurnRow | undefined,
  ): Promise<Exclude<AdmitOutcome, "unknown">> {
    const streamId = this.#idOf(name);
    const codec = this.#sealing.get(name);
    if (codec === undefined) throw expired(); // not attached here, so there is nothing that it could add to
    const sealed: Payload = { seqno, base64: Buffer.from(payload).toString("base64") };
    const message = {
      epoch,
      seqno,
      digest: this.#codec.index(createHash("sha256").update(payload).digest("base64url")),
      box: codec.encodeHeader(JSON.stringify(sealed)),
      expiresAtMs: this.#clock.now() + this.#retention.windowMs,
    };
    const admission = await this.#medium.admit(streamId, message, turn);
    if (admission === "unknown") throw expired();
    return admission;
  }

  /** The attach as the medium knows it. */
  holderOf({ name, epoch }: Pick<AttachedStream, "name" | "epoch">): HolderRow {
    return { streamId: this.#idOf(name), epoch };
  }

  async untilSuperseded({ name, epoch }: Pick<AttachedStream, "name" | "epoch">, signal: AbortSignal): Promise<void> {
    await this.#medium.untilReattached(this.#idOf(name), epoch, signal);
  }

  #ticketIndex(streamId: string, ticket: Secret): string {
    return this.#codec.index(`ticket:${streamId}:${createHash("sha256").update(ticket.reveal()).digest("base64url")}`);
  }

  #idOf({ caller, name, clientKey }: StreamName): string {
    const parts = JSON.stringify([caller, name, clientKey?.reveal() ?? ""]);
    return this.#codec.index(`stream:${createHash("sha256").update(parts).digest("base64url")}`);
  }
}

function opened(codec: TurnCodec, { seqno, box, turnId }: MessageRow): AcceptedMessage {
  const payload = JSON.parse(codec.decodeHeader(box)) as Payload; // sealed by admit
  if (payload.seqno !== seqno) throw damagedLog();
  return { seqno, payload: Buffer.from(payload.base64, "base64"), turnId };
}

function spent(): MillraceError {
  return new MillraceError("cancelled", "This stream was attached to with the same ticket before.", {
    hint: "Another window, or a copy of the stream's record, uses this stream now. Continue there, or start a new stream.",
    details: { reason: "ticket_spent" },
  });
}

function expired(): MillraceError {
  return new MillraceError("expired", "This stream does not exist, or is no longer kept.", {
    hint: "Start a new stream under a new name and key.",
  });
}
