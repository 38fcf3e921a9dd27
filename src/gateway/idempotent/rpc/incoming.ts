/** The messages that arrive on one connection. The next message can be seen before it is taken. Only one caller may wait at a time. */
export class Incoming<Message> implements AsyncIterable<Message> {
  readonly #messages: AsyncIterator<Message>;
  /** Looked at, and not taken. */
  readonly #held: Message[] = [];
  #broken: { readonly error: unknown } | undefined;

  constructor(messages: AsyncIterable<Message>) {
    this.#messages = messages[Symbol.asyncIterator]();
  }

  /** Waits for the first message; false when the connection ends, or breaks, without any. */
  async hasAny(): Promise<boolean> {
    return this.#held.length > 0 || this.#holdNext();
  }

  /** All that comes until the connection ends or breaks. */
  async all(): Promise<readonly Message[]> {
    while (await this.#holdNext()) continue;
    return this.#held;
  }

  /** Every message, once. Throws the connection's error. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Message, void> {
    for (;;) {
      yield* this.#held.splice(0);
      if (this.#broken !== undefined) throw this.#broken.error;
      const next = await this.#messages.next();
      if (next.done === true) return;
      yield next.value;
    }
  }

  async #holdNext(): Promise<boolean> {
    try {
      const next = await this.#messages.next();
      if (next.done === true) return false;
      this.#held.push(next.value);
      return true;
    } catch (error) {
      this.#broken = { error }; // the reader of the messages gets it
      return false;
    }
  }
}
