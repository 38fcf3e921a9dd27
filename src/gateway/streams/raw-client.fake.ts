import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  BidiService,
  ChatService,
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  ErrorDetailsSchema,
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ServerMessageSchema,
  type WelcomeMessage,
} from "../../proto/aiserver/v1/chat_pb.ts";

export type TierName = "bidi" | "sse" | "poll";
export const tierNames: readonly TierName[] = ["bidi", "sse", "poll"];

export type MessageInit = MessageInitShape<typeof ClientMessageSchema>;

/** One attach that a test controls: it sends the test's messages and keeps what arrives. It decides nothing itself. */
export class RawAttach {
  readonly messages: ServerMessage[] = [];
  /** How it ended: undefined for a clean end. Settles in any case. */
  readonly ended: Promise<ConnectError | undefined>;
  readonly #queue: ClientMessage[] = [];
  readonly #stop = new AbortController();
  #changed = Promise.withResolvers<void>();
  #inputOver = false;
  #over = false;

  constructor(run: (up: AsyncIterable<ClientMessage>, signal: AbortSignal) => AsyncIterable<ServerMessage>) {
    this.ended = this.#collect(run(this.#up(), this.#stop.signal));
  }

  send(...messages: readonly MessageInit[]): this {
    this.#queue.push(...messages.map((init) => create(ClientMessageSchema, init)));
    this.#tell();
    return this;
  }

  /** Nothing more is sent. */
  endInput(): this {
    this.#inputOver = true;
    this.#tell();
    return this;
  }

  /** Cuts the connection. */
  async cut(): Promise<void> {
    this.#stop.abort();
    this.#tell();
    await this.ended;
  }

  /** Waits until the received messages satisfy `what`; throws when the attach ends first. */
  async until(what: (attach: this) => boolean): Promise<this> {
    while (!what(this)) {
      if (this.#over) throw new Error(`ended first: ${(await this.ended)?.message ?? "cleanly"}`);
      await this.#changed.promise;
    }
    return this;
  }

  get welcome(): WelcomeMessage | undefined {
    const [first] = this.messages;
    return first?.response.case === "welcomeMessage" ? first.response.value : undefined;
  }

  get chunks(): readonly ServerChunk[] {
    return this.messages.flatMap(({ response }) => (response.case === "serverChunk" ? [response.value] : []));
  }

  get acks(): readonly number[] {
    return this.messages.flatMap(({ response }) => (response.case === "seqnoAck" ? [response.value] : []));
  }

  get text(): string {
    let text = "";
    for (const { response } of this.chunks)
      if (response.case === "streamUnifiedChatResponse") text += response.value.text;
    return text;
  }

  get end(): NonNullable<ServerChunk["streamEnd"]> | undefined {
    return this.chunks.at(-1)?.streamEnd;
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async *#up(): AsyncGenerator<ClientMessage, void> {
    for (;;) {
      const next = this.#queue.shift();
      if (next !== undefined) yield next;
      else if (this.#inputOver || this.#over || this.#stop.signal.aborted) return;
      else await this.#changed.promise;
    }
  }

  async #collect(down: AsyncIterable<ServerMessage>): Promise<ConnectError | undefined> {
    try {
      for await (const message of down) {
        this.messages.push(message);
        this.#tell();
      }
      return undefined;
    } catch (error) {
      return error as ConnectError; // a call rejects with nothing else
    } finally {
      this.#over = true;
      this.#tell();
    }
  }
}

/** A client of a gateway that can attach over every tier. */
export function rawClient(gateway: { readonly url: string; readonly key: string }) {
  const transports = { "1.1": transport("1.1"), "2": transport("2") };

  function transport(httpVersion: "1.1" | "2"): Transport {
    return createConnectTransport({
      baseUrl: gateway.url,
      ...(httpVersion === "2" ? { httpVersion } : { httpVersion }),
      interceptors: [
        (next) => (request) => {
          if (!request.header.has("authorization")) request.header.set("authorization", `Bearer ${gateway.key}`);
          return next(request);
        },
      ],
    });
  }

  return {
    transports,
    attach(tier: TierName, headers: Readonly<Record<string, string>>, requestId: string = crypto.randomUUID()) {
      if (tier === "bidi") {
        const chat = createClient(ChatService, transports["2"]);
        return new RawAttach((up, signal) => chat.streamUnifiedChatWithToolsIdempotent(up, { headers, signal }));
      }
      const chat = createClient(ChatService, transports["1.1"]);
      const bidi = createClient(BidiService, transports["1.1"]);
      return new RawAttach((up, signal) => {
        const down =
          tier === "sse"
            ? chat.streamUnifiedChatWithToolsIdempotentSSE({ requestId }, { headers, signal })
            : polled(chat, requestId, headers, signal);
        return withAppends(down, up, async (data, appendSeqno) => {
          await bidi.bidiAppend({ requestId: { requestId }, data, appendSeqno }, { signal });
        });
      });
    },
  };
}

async function* polled(
  chat: ReturnType<typeof createClient<typeof ChatService>>,
  requestId: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<ServerMessage, void> {
  let expected = 0n;
  for (let startRequest = true; ; startRequest = false) {
    const ask = { requestId: { requestId }, startRequest };
    for await (const answer of chat.streamUnifiedChatWithToolsIdempotentPoll(ask, { headers, signal })) {
      if (answer.data !== "") {
        if (answer.seqno !== expected) throw new Error(`poll answered ${answer.seqno}, not ${expected}`);
        expected++;
        yield fromBinary(ServerMessageSchema, Buffer.from(answer.data, "hex"));
      }
      if (answer.eof === true) return;
    }
  }
}

async function* withAppends(
  down: AsyncIterable<ServerMessage>,
  up: AsyncIterable<ClientMessage>,
  append: (data: string, appendSeqno: bigint) => Promise<void>,
): AsyncGenerator<ServerMessage, void> {
  const appending = (async () => {
    let appendSeqno = 0n;
    for await (const message of up) {
      await append(Buffer.from(toBinary(ClientMessageSchema, message)).toString("hex"), appendSeqno);
      appendSeqno++;
    }
  })();
  appending.catch(() => undefined); // the way down says why
  yield* down;
}

/** The details of a refusal, beside its Connect code. */
export function detailsOf(error: ConnectError | undefined): {
  readonly number: number | undefined;
  readonly info: Readonly<Record<string, string>>;
} {
  const [details] = error?.findDetails(ErrorDetailsSchema) ?? [];
  return { number: details?.error, info: details?.details?.additionalInfo ?? {} };
}

/** Messages as clients write them. */
export const say = {
  request: (
    text: string,
    seqno = 0,
    more: { readonly tools?: readonly string[]; readonly parameters?: object; readonly model?: string } = {},
  ): MessageInit => ({
    seqno,
    request: {
      case: "clientChunk",
      value: {
        request: {
          case: "streamUnifiedChatRequest",
          value: {
            conversation: [{ text, type: 1 }],
            modelDetails: { modelName: more.model ?? "test-model" },
            mcpTools: (more.tools ?? []).map((name) => ({
              name,
              description: name,
              parameters: more.parameters === undefined ? "" : JSON.stringify(more.parameters),
            })),
          },
        },
      },
    },
  }),
  result: (toolCallId: string, result: string, seqno: number): MessageInit => ({
    seqno,
    request: {
      case: "clientChunk",
      value: { request: { case: "clientSideToolV2Result", value: { tool: 19, toolCallId, mcpResult: { result } } } },
    },
  }),
  failedResult: (toolCallId: string, why: string, seqno: number): MessageInit => ({
    seqno,
    request: {
      case: "clientChunk",
      value: {
        request: {
          case: "clientSideToolV2Result",
          value: { tool: 19, toolCallId, error: { modelVisibleErrorMessage: why } },
        },
      },
    },
  }),
  abort: (seqno?: number): MessageInit => ({
    ...(seqno === undefined ? {} : { seqno }),
    request: { case: "abort", value: {} },
  }),
  close: (seqno?: number): MessageInit => ({
    ...(seqno === undefined ? {} : { seqno }),
    request: { case: "close", value: {} },
  }),
};
