import { Bell } from "../../../base/notifier.ts";
import type {
  StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
} from "../../../proto/aiserver/v1/chat_pb.ts";

/** The carrier of one session: the call of tier 1, or the calls of the other tiers. */
export interface Carrier {
  /** Digest of the caller's API key. */
  readonly caller: string;
  /** They name the stream. */
  readonly headers: Headers;
  /** Ends, or throws, once nothing more can come. */
  readonly messages: AsyncIterable<ClientMessage>;
  /** Whether messages may come in another order than they were sent. */
  readonly waitsForGaps: boolean;
  /** Sends after all earlier messages. Resolves when the client's side comes back for more; never after the client has left. */
  readonly write: (message: ServerMessage) => Promise<void>;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
}

/**
 * Runs a session over a call that pulls its messages: yields each as the client's side asks for it. Throws the session's error after
 * all messages. The session has ended when the iteration has.
 */
export async function* carry(
  up: Omit<Carrier, "write">,
  run: (carrier: Carrier) => Promise<void>,
): AsyncGenerator<ServerMessage, void> {
  const waiting: { readonly message: ServerMessage; readonly taken: () => void }[] = [];
  const bell = new Bell();
  const left = new AbortController();
  let end: { readonly error?: unknown } | undefined;
  const write = (message: ServerMessage) =>
    new Promise<void>((taken) => {
      waiting.push({ message, taken });
      bell.ring();
    });
  const over = run({ ...up, write, signal: AbortSignal.any([up.signal, left.signal]) })
    .then(
      () => void (end = {}),
      (error: unknown) => void (end = { error }),
    )
    .finally(() => bell.ring());
  try {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) {
        yield next.message;
        next.taken();
      } else if (end === undefined) await bell.wait();
      else if ("error" in end) throw end.error;
      else return;
    }
  } finally {
    left.abort(new Error("the client has left"));
    await over;
  }
}
