import { renameSync } from "node:fs";
import { join } from "node:path";
import { createParser } from "eventsource-parser";
import { expect, test } from "vitest";
import { detailsOf, rawClient, say, tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { headersOf, newNames } from "../../src/gateway/streams/stream-world.fake.ts";
import { seqOf } from "../../src/log/event.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisServer } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import { ask, gateway, model, patience, patienceMs, simulator } from "../support/world.ts";

const held = 900;
const size = 5_000;

const apis = {
  "/v1/chat/completions": { ...ask("chat"), stream: true },
  "/v1/messages": { model, max_tokens: 99_999, stream: true, messages: [{ role: "user", content: "messages" }] },
  "/v1/responses": { model, input: "responses", stream: true },
  [`/v1beta/models/${model}:streamGenerateContent?alt=sse`]: { contents: [{ parts: [{ text: "gemini" }] }] },
};

interface Part {
  readonly text: string;
  readonly id: string;
  /** Of the last event of Responses. */
  readonly number: number | undefined;
  readonly turnId: string;
}

/** Reads a stream to its end, or until it has so many characters. */
async function read(response: Response, { most = Number.POSITIVE_INFINITY, first = () => {} } = {}): Promise<Part> {
  const turnId = response.headers.get("x-millrace-turn") ?? "";
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  let part: Part = { text: "", id: "", number: undefined, turnId };
  const parser = createParser({
    onEvent: ({ id, data }) => {
      if (!data.startsWith("{")) return;
      const event = JSON.parse(data) as {
        readonly choices?: readonly { readonly delta: { readonly content?: string } }[];
        readonly delta?: string | { readonly text?: string };
        readonly candidates?: readonly [
          { readonly content?: { readonly parts?: readonly [{ readonly text?: string }] } },
        ];
        readonly type?: string;
        readonly sequence_number?: number;
      };
      const { delta } = event;
      const ofResponses = event.type === "response.output_text.delta" && typeof delta === "string" ? delta : "";
      const ofMessages = typeof delta === "object" ? (delta.text ?? "") : "";
      const ofGemini = event.candidates?.[0].content?.parts?.[0].text ?? "";
      const text = part.text + (event.choices?.[0]?.delta.content ?? "") + ofResponses + ofMessages + ofGemini;
      if (part.text === "" && text !== "") first();
      part = { text, id: id ?? part.id, number: event.sequence_number, turnId };
    },
  });
  for await (const piece of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    parser.feed(piece);
    if (part.text.length >= most) break;
  }
  return part;
}

const stores = {
  "a file": async (home: string) => {
    const names = ["turns.db", "turns.db-wal", "turns.db-shm"].map((name) => join(home, ".millrace", name));
    return {
      env: {},
      take: async () => names.forEach((name) => renameSync(name, `${name}.away`)),
      give: async () => names.forEach((name) => renameSync(`${name}.away`, name)),
    };
  },
  Redis: async (home: string) => {
    const redis = await redisServer();
    return { env: sharedStore(redis.url, home, "one"), take: () => redis.kill(), give: () => redis.start() };
  },
};

/** An open file cannot be taken away on Windows. No server to be had is a reason to skip; CI installs one. */
test.skipIf(process.platform === "win32").for(Object.entries(stores))(
  "a client whose last events died with their gateway, since %s was away, is refused by name, and reads the whole answer from its start",
  { timeout: 2 * patienceMs },
  async ([kind, open], { skip }) => {
    if (kind === "Redis" && !redisInstalled) skip();
    const home = temporaryHome();
    const store = await open(home);
    const ide = await simulator({ home, turn: { rate: 800, size, holdAfter: held, thinking: 0 } });
    const start = () => gateway({ home, env: store.env, args: ["--continuity", "off"] });
    const post = (to: GatewayProcess, path: string, body: object, more: Readonly<Record<string, string>> = {}) =>
      fetch(to.url + path, {
        method: "POST",
        headers: {
          authorization: `Bearer ${to.key}`,
          "content-type": "application/json",
          "idempotency-key": path,
          ...more,
        },
        body: JSON.stringify(body),
        signal: patience(),
      });
    const get = (to: GatewayProcess, path: string, more: Readonly<Record<string, string>> = {}) =>
      fetch(to.url + path, { headers: { authorization: `Bearer ${to.key}`, ...more }, signal: patience() });

    const before = await start();
    const begun = Promise.withResolvers<void>();
    let left = Object.keys(apis).length;
    const first = () => void (--left === 0 && begun.resolve());
    const reading = Promise.all(
      Object.entries(apis).map(async ([path, body]) => read(await post(before, path, body), { most: held, first })),
    );
    await begun.promise;
    await store.take();
    const parts = await reading;
    await before.kill();
    await store.give();
    const after = await start();
    await ide.release();
    for (const { turnId } of parts) await read(await get(after, `/v1/turns/${turnId}/events`)); // to its end

    for (const [nth, [path, body]] of Object.entries(apis).entries()) {
      const part = parts[nth];
      if (part === undefined) throw new Error("each was read");
      const { id, number, turnId } = part;
      const eventId = id.split(":")[1] ?? "";
      const { last_event_id: last } = (await (await get(after, `/v1/turns/${turnId}`)).json()) as Record<
        string,
        string
      >;
      expect(seqOf(last ?? "")).toBeGreaterThan(seqOf(eventId)); // another event has its number now
      const refused = [
        await post(after, path, body, { "last-event-id": id }),
        await get(after, `/v1/turns/${turnId}/events?after=${eventId}`),
      ];
      if (path.endsWith("responses")) {
        const responseId = `/v1/responses/resp_${turnId.slice("turn_".length)}`;
        refused.push(await get(after, `${responseId}?stream=true&starting_after=${number}`));
        refused.push(await get(after, `${responseId}?stream=true`, { "last-event-id": id }));
      }
      for (const response of refused) {
        const answer = await response.text();
        expect([path, response.status, answer]).toEqual([
          path,
          400,
          expect.stringMatching(/was lost|no event of this/),
        ]);
      }
      const whole = await read(await post(after, path, body));
      expect([path, whole.text.length, whole.text.slice(0, held)]).toEqual([path, size, part.text.slice(0, held)]);
    }
    expect((await ide.report()).messages).toHaveLength(Object.keys(apis).length);
  },
);

test.skipIf(process.platform === "win32")(
  "a reader of the stream protocol whose last events died with their gateway is refused by name on every tier, and reads the whole answer from its start",
  async () => {
    const home = temporaryHome();
    const store = await stores["a file"](home);
    const ide = await simulator({ home, turn: { rate: 800, size, holdAfter: held, thinking: 0 } });
    const before = await gateway({ home });
    const streams = tierNames.map((tier) => {
      const names = newNames();
      const question = say.request(`stream over ${tier}`, 0, { model });
      return { tier, names, first: rawClient(before).attach(tier, headersOf(names)).send(question) };
    });
    await Promise.all(streams.map(({ first }) => first.until(({ text }) => text !== "")));
    await store.take();
    await Promise.all(streams.map(({ first }) => first.until(({ text }) => text.length >= held)));
    await before.kill();
    await store.give();
    const client = rawClient(await gateway({ home }));
    await ide.release();
    for (const { tier, names, first } of streams) {
      const cursor = first.chunks.at(-1)?.eventId ?? "";
      const lost = client.attach(tier, headersOf(names, cursor, { "x-millrace-intent": "resume" }));
      expect(detailsOf(await lost.ended)).toMatchObject({ info: { reason: "diverged" } });
      expect(lost.text).toBe("");
      const whole = client.attach(tier, headersOf(names, "0", { "x-millrace-intent": "resume" }));
      expect([tier, await whole.ended]).toEqual([tier, undefined]);
      expect([whole.text.length, whole.text.slice(0, held)]).toEqual([size, first.text.slice(0, held)]);
    }
    expect((await ide.report()).messages).toHaveLength(tierNames.length);
  },
  2 * patienceMs,
);
