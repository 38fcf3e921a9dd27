import { MillraceError } from "../../base/errors.ts";
import type { StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage } from "../../proto/aiserver/v1/chat_pb.ts";
import { deepestReason, failureOf, isUnreachable, type LossReport } from "../stream/stream-error.ts";
import type { StreamEvent } from "../stream/stream-event.ts";
import type { StreamSettings } from "../stream/stream-options.ts";
import type { StreamSession } from "../stream/stream-session.ts";
import type { Attach, Tier } from "../tiers/tier.ts";
import type { TierFinding } from "../tiers/tier-choice.ts";
import { firstWaitMs, waitBefore } from "./backoff.ts";
import { Silence, untilSilent } from "./until-silent.ts";
import { pageOrigin } from "./web-platform.ts";

/** How long a call may take to end once its stream has; ms. A call that ends on the server's side leaves its connection clean. */
const lastWordsMs = 1000;

/**
 * Opens one connection after another, as long as needed: it uses the tier that is due, and decides how long to wait. The session
 * handles the gateway's messages.
 */
export class Connections {
  readonly #session: StreamSession;
  readonly #settings: StreamSettings;
  readonly #signal: AbortSignal;
  /** The last loss, with the wait that it asked for; undefined if the call ended without an error. */
  #loss: LossReport | undefined;
  /**
   * How many attaches of this record may still be on their way: a broken connection's, and one of an earlier life of the application. Each can
   * take the stream from the present connection once. Without such a one another program has taken it.
   */
  #late = 1;
  /** When a link that never had a welcome gives up, by the monotonic clock; ms. */
  #firstWelcomeDueMs: number;

  constructor(session: StreamSession, settings: StreamSettings, signal: AbortSignal) {
    this.#session = session;
    this.#settings = settings;
    this.#signal = signal;
    this.#firstWelcomeDueMs = settings.clock.monotonic() + settings.patience.reachMs;
  }

  /**
   * The events for the application, which has applied an event when it asks for the next one. The session closes with the loop. Throws
   * the session's errors, the signal's reason, and `upstream_failed` when the budget of attaches is spent, no gateway welcomed the first one in
   * time, or the program at the address does not speak the protocol.
   */
  async *events(): AsyncGenerator<StreamEvent, void> {
    const session = this.#session;
    try {
      for (;;) {
        this.#signal.throwIfAborted();
        const tier = this.#settings.gateway.current;
        for await (const message of this.#messages(tier, await session.attach())) {
          yield* session.receive(message, tier);
          if (session.isCaughtUp) return;
        }
        if (session.isOver) return;
        await this.#wait(await session.lost());
      }
    } finally {
      await session.close();
    }
  }

  /** The messages of one connection, to its end. */
  async *#messages(tier: Tier, attach: Attach): AsyncGenerator<ServerMessage, void> {
    const { gateway, clock, patience } = this.#settings;
    const session = this.#session;
    const stop = new AbortController();
    const incoming = tier.attach(attach, AbortSignal.any([this.#signal, stop.signal]));
    let isWelcomed = false;
    const waitedMs = () => (isWelcomed ? patience.stallMs : Math.min(patience.welcomeMs, this.#leftMs()));
    const found = (what: TierFinding) => {
      if (!isWelcomed || what === "silent") gateway.report(tier, what); // a connection shows first what it shows of its tier
    };
    try {
      for await (const message of untilSilent(
        incoming,
        () => (session.isOver ? lastWordsMs : waitedMs()),
        clock,
        stop,
      )) {
        if (session.isOver) continue; // messages after the end are dropped
        if (message.response.case === "welcomeMessage") {
          found("welcomed");
          isWelcomed = true;
        }
        yield message;
      }
      this.#loss = undefined;
      if (!session.isOver) found("failed");
    } catch (error) {
      if (session.isOver) return;
      this.#signal.throwIfAborted();
      if (error instanceof Silence) {
        this.#loss = undefined;
        found(isWelcomed ? "silent" : "held_back");
      } else if (!(await this.#isLost(error, found))) return;
      if (!isWelcomed) this.#late++;
    }
  }

  /** Whether the connection was lost on its way, so that the gateway may still get its attach. Throws what no other attach can mend. */
  async #isLost(cause: unknown, found: (what: TierFinding) => void): Promise<boolean> {
    const failure = failureOf(cause);
    switch (failure.kind) {
      case "refused":
        found("welcomed"); // a gateway answers and understands
        if (failure.reason !== "superseded" || this.#late === 0) return this.#session.refused(failure);
        this.#late--;
        this.#loss = undefined;
        return false;
      case "no_such_tier":
        found("missing");
        if (!this.#settings.gateway.allMissing) return false;
        throw new MillraceError("upstream_failed", "The program at this address does not speak the stream protocol.", {
          hint: "Give the gateway's own address, as `millrace serve` prints it; an old gateway must be updated.",
          cause: failure.error,
        });
      case "lost":
        this.#loss = failure;
        found(isUnreachable(failure.error) ? "unreachable" : "failed");
        return !isUnreachable(failure.error);
      default:
        return failure satisfies never;
    }
  }

  async #wait(fruitless: number): Promise<void> {
    const { clock, backoff, random, gateway, onConnection } = this.#settings;
    const { retryAfterMs = 0, why } = this.#loss ?? {};
    if (retryAfterMs > 0) this.#firstWelcomeDueMs = clock.monotonic() + retryAfterMs + this.#settings.patience.reachMs;
    const policy = gateway.hasWorked ? backoff : { ...backoff, capMs: Math.min(backoff.capMs, firstWaitMs) };
    const waitMs = waitBefore(Math.max(1, fruitless), policy, random, retryAfterMs);
    if (waitMs === undefined || waitMs >= this.#leftMs()) throw this.#givenUp();
    onConnection({ state: "reconnecting", tier: gateway.current.name, waitMs, fruitless, why });
    await clock.sleep(waitMs, this.#signal);
  }

  /** What is left until the first welcome is due; ms. */
  #leftMs(): number {
    const { gateway, clock } = this.#settings;
    return gateway.hasWorked ? Infinity : Math.max(0, this.#firstWelcomeDueMs - clock.monotonic());
  }

  #givenUp(): MillraceError {
    const { gateway, backoff, patience } = this.#settings;
    const loss = this.#loss;
    const why = loss === undefined ? "nothing was answered" : deepestReason(loss.error);
    const message = !gateway.hasWorked
      ? `No gateway answered within ${patience.reachMs / 1000} s (${why}).`
      : loss !== undefined && isUnreachable(loss.error)
        ? `The gateway does not answer at its address (${why}).`
        : `Nothing new came from the gateway in ${backoff.budget} connections in a row (${why}).`;
    const page = pageOrigin();
    const allow = page === undefined ? "" : ` Allow this page's origin: \`millrace serve --allow-origin ${page}\`.`;
    return new MillraceError("upstream_failed", message, {
      hint: `Check that the gateway runs (\`millrace status\`) and that its address is right.${allow} The stream continues where it stopped.`,
      ...(loss === undefined ? {} : { cause: loss.error }),
    });
  }
}
