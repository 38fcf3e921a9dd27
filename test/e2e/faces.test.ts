import Anthropic from "@anthropic-ai/sdk";
import { toBinary } from "@bufbuild/protobuf";
import { Ollama } from "ollama";
import { expect, test } from "vitest";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { startReliableStream } from "../../src/client/stream/open-stream.ts";
import { rawClient, say, tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { StreamUnifiedChatResponseWithToolsSchema as ChunkSchema } from "../../src/proto/aiserver/v1/chat_pb.ts";
import { eventsOf } from "../cut/exchange.ts";
import { ask, collect, model, patience, world } from "../support/world.ts";

/** An answer with characters of one to four bytes, line ends, quotes, and what looks like markup. */
const text = 'Grüße, 世界 🙂!\\n\\n```sh\\necho \\"<b>hi</b>\\"\\n``` and & then — a last line';
const spoken = text.replaceAll("\\n", "\n").replaceAll('\\"', '"');
const question = `[[sim: text="${text}" thinking=60 rate=600 chunk=5]] Say it.`;

test("every API of the gateway gives the same answer, at any time and from any cursor (G17)", async () => {
  const { client, served } = await world({ args: ["--continuity", "off"] });
  const anthropic = new Anthropic({ baseURL: served.url, apiKey: served.key, maxRetries: 0 });
  const fetched = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
    (await fetch(`${served.url}${path}`, { headers: { authorization: `Bearer ${served.key}`, ...headers } })).text();
  const told = new Map<string, string>();

  const keyed = { headers: { "idempotency-key": "faces" } };
  const chat = await client.chat.completions.create({ ...ask(question), stream: true }, keyed).withResponse();
  told.set("chat, streamed", (await collect(chat.data)).text);
  told.set(
    "chat, replayed",
    (await collect(await client.chat.completions.create({ ...ask(question), stream: true }, keyed))).text,
  );
  told.set(
    "chat, whole",
    (await client.chat.completions.create(ask(question), keyed)).choices[0]?.message.content ?? "",
  );

  // The log itself, whole and from each of its events on, as an EventSource reads it.
  const log = `/v1/turns/${chat.response.headers.get("x-millrace-turn")}/events`;
  const events = eventsOf(await fetched(log));
  told.set(
    "the log",
    events.map(({ event, data }) => (event === "text" ? (JSON.parse(data) as { delta: string }).delta : "")).join(""),
  );
  for (const [i, { id = "" }] of events.entries())
    expect(eventsOf(await fetched(log, { "last-event-id": id }))).toEqual(events.slice(i + 1));

  const response = await client.responses.create({ model, input: question, background: true });
  const sequence: { readonly sequence_number: number; readonly type: string }[] = [];
  for await (const event of await client.responses.retrieve(response.id, { stream: true })) sequence.push(event);
  told.set(
    "responses, streamed",
    sequence
      .map((event) => ("delta" in event && event.type === "response.output_text.delta" ? String(event.delta) : ""))
      .join(""),
  );
  told.set("responses, whole", (await client.responses.retrieve(response.id)).output_text);
  for (const { sequence_number: after } of sequence) {
    const rest: typeof sequence = [];
    const asked = { stream: true, starting_after: after } as const;
    for await (const event of await client.responses.retrieve(response.id, asked)) rest.push(event);
    expect(rest.filter((event) => event.sequence_number > after)).toEqual(sequence.slice(after + 1));
  }

  const message = { model, max_tokens: 2_000, messages: [{ role: "user" as const, content: question }] };
  told.set("messages, streamed", await anthropic.messages.stream(message).finalText());
  const whole = await anthropic.messages.create(message);
  told.set("messages, whole", whole.content.map((block) => (block.type === "text" ? block.text : "")).join(""));
  const ollama = new Ollama({ host: served.url, headers: { authorization: `Bearer ${served.key}` } });
  const said = await ollama.chat({ model, messages: [{ role: "user", content: question }] });
  told.set("Ollama, whole", said.message.content);

  // One stream over every tier: byte for byte the same chunks, from each of their ids.
  const key = {
    "x-idempotency-key": "faces",
    "x-idempotent-encryption-key": Buffer.alloc(32, 3).toString("base64url"),
  };
  const over = async (tier: (typeof tierNames)[number], cursor: string) => {
    const attach = rawClient(served).attach(tier, { ...key, "x-idempotency-event-id": cursor });
    attach.send(say.request(question, 0, { model })).endInput();
    expect(await attach.ended).toBeUndefined();
    return attach.chunks.map((chunk) => ({
      id: chunk.eventId,
      bytes: Buffer.from(toBinary(ChunkSchema, chunk)).toString("hex"),
    }));
  };
  const chunks = await over("bidi", "0");
  for (const tier of tierNames) {
    expect(await over(tier, "0")).toEqual(chunks);
    const middle = Math.floor(chunks.length / 2);
    expect(await over(tier, chunks[middle]?.id ?? "")).toEqual(chunks.slice(middle + 1));
  }
  const request = { model, messages: [{ role: "user" as const, text: question }] };
  let streamed = "";
  for await (const event of (await startReliableStream(request, { gateway: nodeLink(served) }, patience())).events)
    if (event.type === "text") streamed += event.delta;
  told.set("the stream protocol", streamed);

  expect(Object.fromEntries(told)).toEqual(Object.fromEntries([...told.keys()].map((face) => [face, spoken])));
});
