import { systemClock } from "../../base/clock.ts";
import type { StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage } from "../../proto/aiserver/v1/chat_pb.ts";
import { openLink } from "../link/gateway-link.ts";
import { transportTo } from "../routes.fake.ts";
import { calls, type FakeStreamServer, rewrites, type Script, says, thinks } from "../stream-server.fake.ts";
import { type Cut, cutTier } from "../tiers/faulty-tier.fake.ts";
import { type Attach, type OpenTier, openBidiTier, openPollTier, openSseTier, type Tier } from "../tiers/tier.ts";
import type { StreamRequest } from "./messages.ts";
import type { ReliableStream } from "./stream.ts";
import type { StreamEvent } from "./stream-event.ts";
import type { StreamOptions } from "./stream-options.ts";

export const never = new AbortController().signal;
export const request: StreamRequest = { model: "any", messages: [{ role: "user", text: "Hello?" }] };
export const plain: Script = [
  [thinks("hm"), says("Hel"), says("lo "), says("there"), rewrites("Hello, you"), says("!")],
];
export const withTools: Script = [
  [says("Let me look. "), calls("call-1"), says("and "), calls("call-2"), says("wait. ")],
  [says("One more: "), calls("call-3")],
  [says("Done.")],
];
export const tiers: readonly (readonly [string, OpenTier])[] = [
  ["bidi", openBidiTier],
  ["sse", openSseTier],
  ["poll", openPollTier],
];

/** No wait at all: what is tested is not time. */
export const hasty = { backoff: { baseMs: 0, capMs: 0, budget: 60 }, clock: systemClock };

export function optionsFor(
  server: FakeStreamServer,
  cutOf: (attach: number) => Cut | undefined = () => undefined,
  open: readonly OpenTier[] = [openBidiTier],
): StreamOptions {
  const transport = transportTo(server);
  return {
    ...hasty,
    gateway: openLink(open.map((openTier) => cutTier(openTier(transport), cutOf))),
  };
}

/** Reads to the end, and runs each tool. */
export async function readAll(stream: ReliableStream, ran: string[] = []): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream.events) {
    events.push(event);
    if (event.type === "tool_call")
      await stream.runTool(event, () => {
        ran.push(event.callId);
        return Promise.resolve({ text: `result of ${event.callId}` });
      });
  }
  return events;
}

/** The events that an application holds if it keeps events by their ids. */
export const ids = (events: readonly StreamEvent[]) => events.map(({ eventId }) => eventId);

/** A tier whose attaches answer with the given functions, in turn. */
export function scripted(
  ...answers: readonly (() => AsyncIterable<ServerMessage>)[]
): Tier & { readonly attached: Attach[] } {
  const attached: Attach[] = [];
  return {
    name: "sse",
    attached,
    attach: (attach) => {
      attached.push(attach);
      const answer = answers[attached.length - 1] ?? answers.at(-1);
      if (answer === undefined) throw new Error("nothing is scripted");
      return answer();
    },
  };
}

/** A call that fails before anything comes. */
export function failing(error: unknown): AsyncIterable<ServerMessage> {
  const failed = async (): Promise<IteratorResult<ServerMessage>> => {
    throw error;
  };
  return { [Symbol.asyncIterator]: () => ({ next: failed }) };
}

export const link = (...open: readonly Tier[]) => openLink(open);

/** Other bytes that decode: the rewritten text says something else. */
export function forge(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(Buffer.from(Buffer.from(bytes).toString("latin1").replace("you", "YOU"), "latin1"));
}
