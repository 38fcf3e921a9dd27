import { MillraceError } from "../../base/errors.ts";
import type {
  StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
  WelcomeMessage,
} from "../../proto/aiserver/v1/chat_pb.ts";
import type { ConnectionChange } from "../stream/reliable-stream.ts";
import {
  deepestReason,
  failureOf,
  isUnreachable,
  type LossReport,
  type RefusalReport,
} from "../stream/stream-error.ts";
import type { StreamSettings } from "../stream/stream-options.ts";
import { AttachFailure, openAttach } from "../tiers/attach.ts";
import type { Attach, Tier } from "../tiers/tier.ts";
import type { TierFinding } from "../tiers/tier-choice.ts";
import { waitBefore } from "./backoff.ts";
import { Silence } from "./until-silent.ts";

/** The part of a stream that connects repeatedly: its writer or an observer. */
export interface OpenConnection {
  /** The next attach. */
  attach(): Promise<Attach>;
  /** Whether nothing more is to come: a connection that ends then is not lost. */
  isOver(): boolean;
  /** The connection is gone before that. Answers how many attaches in a row brought nothing, with this one; throws where no other may follow. */
  lost(): Promise<number>;
  /** The gateway's own word against the attach. Returns where another one may mend it; throws otherwise. */
  refused(failure: RefusalReport): Promise<void>;
}

/** A message of the gateway, and how it came. */
export interface Delivery {
  readonly message: ServerMessage;
  readonly tier: Tier;
}

/** The application's event for a welcome. */
export function attachedOver({ name }: Tier, { isDegradedMode, facts }: WelcomeMessage): ConnectionChange {
  return {
    state: "attached",
    tier: name,
    degraded: isDegradedMode,
    expiresAtMs: facts === undefined ? undefined : Number(facts.expiresAtUnixMs),
    turnId: facts?.turnId || undefined,
  };
}

type Ports = Pick<StreamSettings, "gateway" | "clock" | "patience" | "backoff" | "random" | "onConnection">;

/**
 * Opens one connection after another, as long as needed: it chooses the tier, decides when the gateway counts as gone, and how long to
 * wait. Yields the gateway's messages; `connected` handles them.
 */
export class Connections {
  readonly #connected: OpenConnection;
  readonly #ports: Ports;
  readonly #signal: AbortSignal;
  /** The last loss, with the wait that it asked for; undefined if the call ended without an error. */
  #loss: LossReport | undefined;
  /** Since when a link that never reached a gateway tries to reach one, by the monotonic clock; ms. */
  #aloneSinceMs: number | undefined;

  constructor(connected: OpenConnection, ports: Ports, signal: AbortSignal) {
    this.#connected = connected;
    this.#ports = ports;
    this.#signal = signal;
  }

  /**
   * Ends when `connected` is over. Throws its methods' errors, the signal's reason, and `upstream_failed` when the budget of attaches
   * is spent or the program at the address does not speak the protocol.
   */
  async *deliveries(): AsyncGenerator<Delivery, void> {
    const { circuit } = this.#ports.gateway;
    for (;;) {
      this.#signal.throwIfAborted();
      if ((await circuit.enter(this.#signal)) === "go") yield* this.#one();
      if (this.#connected.isOver()) return;
      await this.#wait(await this.#connected.lost());
    }
  }

  /** One connection, to its end. */
  async *#one(): AsyncGenerator<Delivery, void> {
    const { gateway, clock, patience } = this.#ports;
    const tier = gateway.tiers.current;
    const isOver = () => this.#connected.isOver();
    let finding: TierFinding | undefined;
    const found = (what: TierFinding) => {
      if (finding !== undefined && what !== "silent") return; // a connection shows first what it shows of its tier
      finding = what;
      gateway.tiers.report(tier, what);
      gateway.circuit.report(what !== "unreachable" && what !== "failed" && what !== "held_back");
    };
    try {
      const attach = await this.#connected.attach();
      for await (const message of openAttach(tier, attach, { clock, patience, isOver }, this.#signal)) {
        if (isOver()) continue; // messages after the end are dropped
        if (message.response.case === "welcomeMessage") found("welcomed");
        yield { message, tier };
      }
      this.#loss = undefined;
      if (!isOver()) found("failed");
    } catch (error) {
      if (!(error instanceof AttachFailure)) throw error;
      if (isOver()) return;
      this.#signal.throwIfAborted();
      if (error.cause instanceof Silence) found(finding === undefined ? "held_back" : "silent");
      else await this.#failed(error.cause, found);
    } finally {
      if (finding === undefined) gateway.circuit.leave();
    }
  }

  async #failed(cause: unknown, found: (what: TierFinding) => void): Promise<void> {
    const failure = failureOf(cause);
    switch (failure.kind) {
      case "refused":
        found("welcomed"); // a gateway answers and understands
        return this.#connected.refused(failure);
      case "no_such_tier":
        found("missing");
        if (!this.#ports.gateway.tiers.allMissing) return;
        throw new MillraceError("upstream_failed", "The program at this address does not speak the stream protocol.", {
          hint: "Give the gateway's own address, as `millrace serve` prints it; an old gateway must be updated.",
          cause: failure.error,
        });
      case "lost":
        this.#loss = failure;
        found(isUnreachable(failure.error) ? "unreachable" : "failed");
        return;
      default:
        failure satisfies never;
    }
  }

  async #wait(fruitless: number): Promise<void> {
    const { clock, backoff, random, gateway, onConnection } = this.#ports;
    const { retryAfterMs = 0, why } = this.#loss ?? {};
    this.#stopAtNobody();
    const waitMs = waitBefore(Math.max(1, fruitless), backoff, random, retryAfterMs);
    if (waitMs === undefined) throw givenUp(this.#loss, backoff.budget);
    const change: ConnectionChange = {
      state: "reconnecting",
      tier: gateway.tiers.current.name,
      waitMs,
      fruitless,
      why,
    };
    onConnection(change);
    await clock.sleep(waitMs, this.#signal);
  }

  /** Throws when a link that never reached a gateway has tried for its maximum time. */
  #stopAtNobody(): void {
    const { gateway, clock, patience, backoff } = this.#ports;
    const isAlone = this.#loss !== undefined && isUnreachable(this.#loss.error) && !gateway.tiers.hasWorked;
    this.#aloneSinceMs = isAlone ? (this.#aloneSinceMs ?? clock.monotonic()) : undefined;
    if (this.#aloneSinceMs === undefined || clock.monotonic() - this.#aloneSinceMs < patience.reachMs) return;
    throw givenUp(this.#loss, backoff.budget);
  }
}

function givenUp(loss: LossReport | undefined, budget: number): MillraceError {
  const why = loss === undefined ? "" : ` (${deepestReason(loss.error)})`;
  const message =
    loss !== undefined && isUnreachable(loss.error)
      ? `The gateway does not answer at its address${why}.`
      : `Nothing new came from the gateway in ${budget} connections in a row${why}.`;
  return new MillraceError("upstream_failed", message, {
    hint: "Check that the gateway runs (`millrace serve`) and that its address is right. For a web page, allow its origin (`--allow-origin`). The stream continues where it stopped.",
    ...(loss === undefined ? {} : { cause: loss.error }),
  });
}
