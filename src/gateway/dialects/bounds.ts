/** The most of each thing that a client sends, in every API. What is not named here is bounded by the body as a whole. */
export const bounds = {
  body: {
    /** Images inside requests make bodies large. Source: docs/dev/wire/requirements.json. */
    bytes: 64 * 1024 * 1024,
    /** Bytes beside images and files. */
    text: 8 * 1024 * 1024,
    /** Values and names of members: a conversation of 10,000 messages has some 100,000. */
    values: 250_000,
    /** Real schemas nest some ten levels; a far deeper body is meant to exhaust the stack. */
    levels: 200,
  },
  /**
   * Of one message, in bytes: the libraries join and read one in a turn of the event loop, and that of the stream protocol encodes it once more.
   * A longer request has HTTP, where its body is read in pieces.
   */
  message: { socket: 16 * 1024 * 1024, stream: 10 * 1024 * 1024 },
  stop: {
    /** OpenAI's API has four; those that name no number, as many as a program of theirs ever sent. */
    sequences: { openai: 4, others: 64 },
    characters: 1_000,
  },
  /** The longest start of a data URL, before its data. */
  dataUrlStart: 1_000,
  idempotencyKey: 255,
  /** How many names of parts that were left out are told. */
  names: 20,
  /** No model writes more, and the IDE's own field holds no more. */
  outputTokens: 2 ** 31 - 1,
} as const;
