/** How many messages each model takes in a window, which begins with the first of them. */
export class MessageRate {
  readonly #options: { readonly max: number; readonly windowMs: number };
  readonly #byModel = new Map<string, { readonly endsAtMs: number; taken: number }>();

  constructor(options: { readonly max: number; readonly windowMs: number }) {
    this.#options = options;
  }

  /** Counts a message. False: there were too many. */
  take(modelUid: string, nowMs: number): boolean {
    const { max, windowMs } = this.#options;
    const held = this.#byModel.get(modelUid);
    const window = held !== undefined && held.endsAtMs > nowMs ? held : { endsAtMs: nowMs + windowMs, taken: 0 };
    this.#byModel.set(modelUid, window);
    if (window.taken >= max) return false;
    window.taken++;
    return true;
  }

  /** As `CheckUserMessageRateLimit` answers it. */
  answer(modelUid: string, nowMs: number) {
    const { max: maxMessages } = this.#options;
    const held = this.#byModel.get(modelUid);
    if (held === undefined || held.endsAtMs <= nowMs) {
      return { hasCapacity: true, messagesRemaining: maxMessages, maxMessages };
    }
    const messagesRemaining = maxMessages - held.taken;
    return {
      hasCapacity: messagesRemaining > 0,
      ...(messagesRemaining > 0 ? {} : { message: "You have reached the message limit of this model." }),
      messagesRemaining,
      maxMessages,
      resetsInSeconds: BigInt(Math.ceil((held.endsAtMs - nowMs) / 1000)),
    };
  }
}
