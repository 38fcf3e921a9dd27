/** What comes over one connection; whether it has brought anything can be asked before that is taken. */
export class Incoming<Message> implements AsyncIterable<Message> {
  readonly #messages: AsyncIterator<Message>;
  #first: Promise<IteratorResult<Message>> | undefined;

  constructor(messages: AsyncIterable<Message>) {
    this.#messages = messages[Symbol.asyncIterator]();
  }

  /** Waits for the first message; false when the connection ends, or breaks, without any. */
  async hasAny(): Promise<boolean> {
    this.#first ??= this.#messages.next();
    try {
      return (await this.#first).done !== true;
    } catch {
      return false; // whoever takes the messages hears why
    }
  }

  /** Every message, once. Throws what the connection threw. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Message, void> {
    for (
      let next = await (this.#first ?? this.#messages.next());
      next.done !== true;
      next = await this.#messages.next()
    )
      yield next.value;
  }
}
