import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import { MillraceError } from "../../base/errors.ts";
import { idle } from "../../base/wait.fake.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { type FakeGateway, fakeGateway, guestKey } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";

const path = "/v1/chat/completions";
const chat = { model: "test-model", messages: [{ role: "user", content: "Hello" }] };
const streamed = { ...chat, stream: true };
const failed = (code: "upstream_failed" | "rate_limited" | "quota_exhausted", more = {}): TurnEventBody => ({
  type: "failed",
  error: { code, message: "The upstream said no.", hint: "Wait.", ...more },
});
const answer = [started, text("Hi"), text(" there."), finished("Hi there.")];

async function openStream(fake: FakeGateway, headers: Record<string, string> = {}, body: unknown = streamed) {
  const response = await fake.request(path, { json: body, headers });
  expect(response.status).toBe(200);
  return { response, reader: new SseReader(response) };
}

/** Waits for a response while the fake clock moves on in small steps. */
async function whileTimePasses<T>(fake: FakeGateway, work: Promise<T>, eachStep = () => {}): Promise<T> {
  const finished = new AbortController();
  const watched = work.finally(() => finished.abort());
  while (!finished.signal.aborted) {
    eachStep();
    await fake.clock.advance(500);
  }
  return watched;
}

/** Whether a promise has settled by the time that nothing else is left to run. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  const mark = () => {
    done = true;
  };
  promise.then(mark, mark);
  await idle();
  return done;
}

describe("a streamed turn", () => {
  it("ends with [DONE] after one finish reason, and then the body closes", async () => {
    proves("chat.done-last", "http.sse");
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const { response, reader } = await openStream(fake);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    const events = await reader.rest();
    expect(events.at(-1)?.data).toBe("[DONE]");
    const reasons = events.filter((event) => event.data.includes('"finish_reason":"stop"'));
    expect(reasons).toHaveLength(1);
    expect(fake.turns.delivered(fake.turns.turnId(0))).toBe(true);
  });

  it("sends each event as soon as the log has it", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("one")];
    const { reader } = await openStream(fake);
    await reader.next();
    expect((await reader.next())?.data).toContain('"content":"one"');
    fake.turns.emit(fake.turns.turnId(0), text("two"));
    expect((await reader.next())?.data).toContain('"content":"two"');
  });

  it("asks nothing of the log that the client has not taken yet", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, ...Array.from({ length: 100 }, (_, i) => text(String(i))), finished("")];
    const { reader } = await openStream(fake);
    await fake.clock.advance(0);
    expect(fake.turns.readers(fake.turns.turnId(0))).toBe(1);
    expect(fake.turns.delivered(fake.turns.turnId(0))).toBe(false);
    await reader.cancel();
    expect(fake.turns.readers(fake.turns.turnId(0))).toBe(0);
  });

  it("says who asked what of which model in headers", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    fake.turns.degraded = true;
    const { response } = await openStream(fake);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "x-millrace-turn": fake.turns.turnId(0),
      "x-millrace-joined": "no",
      "x-millrace-degraded": "true",
      "x-millrace-model": "uid-test-model",
      "x-millrace-model-asked": "test-model",
      "x-millrace-model-rule": "name",
      "x-millrace-backend": "cascade",
      "x-millrace-continuity": "rebuilt(new)",
    });
  });

  it("says so to a client that joins or resumes the turn, also when the model can no longer be found", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const keyed = { json: streamed, headers: { "idempotency-key": "k" } };
    const first = await fake.request(path, keyed);
    const [, second] = await new SseReader(first).rest();
    fake.models.resolve = () => Promise.reject(new MillraceError("ide_not_running", "No IDE runs."));
    const joined = await fake.request(path, keyed);
    const resumed = await fake.request(path, { json: streamed, headers: { "last-event-id": second?.id ?? "" } });
    expect(joined.headers.get("x-millrace-joined")).toBe("key");
    for (const name of ["x-millrace-model", "x-millrace-model-asked", "x-millrace-model-rule"]) {
      expect(first.headers.get(name)).not.toBeNull();
      expect(joined.headers.get(name)).toBe(first.headers.get(name));
      expect(resumed.headers.get(name)).toBe(first.headers.get(name));
    }
  });

  it("answers a failure before the first content with its status", async () => {
    proves("http.retry-after");
    const fake = fakeGateway();
    fake.turns.script = () => [failed("rate_limited", { retryAfterMs: 6200 })];
    const response = await fake.request(path, { json: streamed });
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("7");
    expect(response.headers.get("x-should-retry")).toBe("true");
    expect(fake.turns.delivered(fake.turns.turnId(0))).toBe(true);
  });

  it("answers a failure after content in the stream, without a finish reason or [DONE]", async () => {
    proves("chat.stream-error");
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("Hal"), failed("upstream_failed")];
    const events = await (await openStream(fake)).reader.rest();
    expect(JSON.parse(events.at(-1)?.data ?? "")).toMatchObject({ error: { code: "upstream_failed" } });
    expect(events.some((event) => event.data.includes('"finish_reason":"stop"'))).toBe(false);
  });

  it("never shows a log that stops without its end as complete", async () => {
    const fake = fakeGateway();
    const { turns } = fake;
    turns.script = () => [started, text("Hal")];
    turns.read = async function* (turnId, after, signal) {
      for await (const event of turns.follow(turnId, after, signal)) {
        yield event;
        if (event.type === "text") return;
      }
    };
    const events = await (await openStream(fake)).reader.rest();
    expect(JSON.parse(events.at(-1)?.data ?? "")).toMatchObject({ error: { code: "upstream_failed" } });
    const whole = await fake.request(path, { json: chat });
    expect(whole.status).toBe(502);
  });

  it("reports a log that cannot be read, without internal details", async () => {
    const fake = fakeGateway();
    const { turns } = fake;
    turns.script = () => [started, text("Hal")];
    turns.read = async function* (turnId, after, signal) {
      for await (const event of turns.follow(turnId, after, signal)) {
        yield event;
        if (event.type === "text") throw new Error("SQLITE_CORRUPT at /home/someone/turns.db");
      }
    };
    const { reader } = await openStream(fake);
    const events = await reader.rest();
    expect(JSON.parse(events.at(-1)?.data ?? "")).toMatchObject({ error: { code: "internal" } });
    expect(reader.bytes).not.toContain("SQLITE");
  });
});

describe("silence", () => {
  it("opens the stream after a while without events, and keeps it alive with no-op chunks while the upstream answers", async () => {
    proves("messages.ping");
    const fake = fakeGateway();
    const pending = openStream(fake);
    await fake.clock.advance(0);
    const turnId = fake.turns.turnId(0);
    const { reader } = await whileTimePasses(fake, pending);
    expect((await reader.next())?.data).toContain('"role":"assistant"');
    for (let beat = 0; beat < 30; beat++) {
      const next = reader.next();
      const before = fake.clock.now();
      const event = await whileTimePasses(fake, next, () => fake.turns.alive(turnId));
      expect(fake.clock.now() - before).toBeLessThanOrEqual(15_000);
      expect(JSON.parse(event?.data ?? "")).toMatchObject({ choices: [{ delta: {}, finish_reason: null }] });
      expect(event?.id).toBe(`${turnId}:0:0`);
    }
    fake.turns.emit(turnId, started, text("late"), finished("late"));
    const rest = await reader.rest();
    expect(rest.at(-1)?.data).toBe("[DONE]");
  });

  it("sends a waiting client its position, in a comment before the no-op chunk", async () => {
    const fake = fakeGateway();
    const pending = openStream(fake);
    await fake.clock.advance(0);
    const turnId = fake.turns.turnId(0);
    const { reader } = await whileTimePasses(fake, pending);
    await reader.next();
    fake.turns.places.set(turnId, { position: 2, of: 5 });
    await whileTimePasses(fake, reader.next(), () => fake.turns.alive(turnId));
    expect(reader.bytes).toContain(": waiting, position 2 of 5 in the queue\n\nid: ");
    const described = await fake.request(`/v1/turns/${turnId}`);
    expect(await described.json()).toMatchObject({ queue: { position: 2, of: 5 } });
    fake.turns.places.clear();
    fake.turns.emit(turnId, started, text("late"), finished("late"));
    const rest = await reader.rest();
    expect(rest.at(-1)?.data).toBe("[DONE]");
    expect(reader.bytes.match(/: waiting/g)).toHaveLength(1);
  });

  it("sends no heartbeat when the upstream is not known alive, or no longer", async () => {
    proves("messages.ping");
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("x")];
    const { reader } = await openStream(fake);
    await reader.next();
    await reader.next();
    const beat = reader.next();
    await fake.clock.advance(120_000);
    expect(await settled(beat)).toBe(false);
    fake.turns.alive(fake.turns.turnId(0));
    await fake.clock.advance(15_000);
    expect(JSON.parse((await beat)?.data ?? "")).toMatchObject({ choices: [{ delta: {} }] });
    await fake.clock.advance(60_000); // the sign of life is old now
    const silent = reader.next();
    expect(await settled(silent)).toBe(false);
    await fake.clock.advance(300_000);
    expect(await settled(silent)).toBe(false);
    fake.turns.emit(fake.turns.turnId(0), finished("x"));
    expect((await silent)?.data).toContain('"finish_reason":"stop"');
  });
});

describe("a turn that is not streamed", () => {
  it("answers the whole with its length", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const response = await fake.request(path, { json: chat });
    const body = await response.text();
    expect(response.headers.get("content-length")).toBe(String(body.length));
    expect(JSON.parse(body)).toMatchObject({
      object: "chat.completion",
      model: "test-model",
      choices: [{ message: { role: "assistant", content: "Hi there." }, finish_reason: "stop" }],
    });
    expect(fake.turns.delivered(fake.turns.turnId(0))).toBe(true);
  });

  it("asks the SDKs not to repeat a prompt that may have cost credits", async () => {
    proves("http.permanent-4xx");
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("Hal"), failed("upstream_failed")];
    const response = await fake.request(path, { json: chat });
    expect(response.status).toBe(502);
    expect(response.headers.get("x-should-retry")).toBe("false");
    fake.turns.script = () => [failed("upstream_failed")];
    expect((await fake.request(path, { json: { ...chat, user: "other" } })).headers.get("x-should-retry")).toBeNull();
  });

  it("says when an exhausted quota resets, and that waiting in a header is no use", async () => {
    proves("http.retry-after");
    const fake = fakeGateway();
    fake.turns.script = () => [failed("quota_exhausted", { resetsAtMs: Date.UTC(2026, 0, 2), retryAfterMs: 9e8 })];
    const response = await fake.request(path, { json: chat });
    expect(response.status).toBe(429);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(response.headers.get("retry-after")).toBeNull();
    expect(await response.json()).toMatchObject({ error: { resets_at: "2026-01-02T00:00:00.000Z" } });
  });

  it("repeats a quota refusal as 402, in words that no client takes for a temporary limit", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [failed("quota_exhausted", { resetsAtMs: Date.UTC(2026, 0, 2), repeated: true })];
    const response = await fake.request(path, { json: chat });
    expect(response.status).toBe(402);
    expect(response.headers.get("x-should-retry")).toBe("false");
    // what OpenCode 1.18 looks for in the text of an error that its status does not let it repeat
    expect(await response.text()).not.toMatch(/429|500|502|503|504|524|rate.limit|server.error|try again|terminated/i);
    const messages = await fake.request("/v1/messages", { json: { ...chat, max_tokens: 9 } });
    expect(messages.status).toBe(402);
    expect(await messages.json()).toMatchObject({ error: { type: "billing_error", code: "quota_exhausted" } });
  });

  it("answers a cancelled turn with 499", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, { type: "cancelled", by: "client" }];
    expect((await fake.request(path, { json: chat })).status).toBe(499);
  });
});

describe("bodies", () => {
  it("takes 32 MB, and refuses what is over the limit in the caller's own shape", async () => {
    proves("http.body-size");
    const fake = fakeGateway({ maxBodyBytes: 33 * 1024 * 1024 });
    fake.turns.script = () => answer;
    const sized = (bytes: number) => {
      const image_url = { url: `data:image/png;base64,${"A".repeat(bytes)}` };
      return JSON.stringify({ ...chat, messages: [{ role: "user", content: [{ type: "image_url", image_url }] }] });
    };
    expect((await fake.request(path, { method: "POST", body: sized(32 * 1024 * 1024) })).status).toBe(200);
    const over = await fake.request(path, { method: "POST", body: sized(33 * 1024 * 1024) });
    expect(over.status).toBe(413);
    expect(await over.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });

  it.each(["{", "", "[]", '"x"', "\uFEFF{}", "null"])("answers the body %j with 400", async (body) => {
    const response = await fakeGateway().request(path, { method: "POST", body });
    expect(response.status).toBe(400);
  });

  it("takes any content type that JSON comes with", async () => {
    proves("http.body-size");
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const headers = { "content-type": "application/json; charset=utf-8" };
    expect((await fake.request(path, { json: chat, headers })).status).toBe(200);
  });

  it("gives the turns what the headers say of the caller", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const headers = {
      "x-session-id": "ses_1",
      "user-agent": "opencode/1.18.33 linux",
      "x-millrace-project": "demo",
      "x-millrace-grace": "90",
      "x-stainless-retry-count": "1",
      "idempotency-key": '"k-1"',
    };
    await fake.request(path, { json: chat, headers });
    await fake.request(`${path}?detach=1`, { json: { ...chat, user: "2" } });
    await fake.request(path, { json: { ...chat, user: "3" }, headers: { "x-millrace-grace": "detach" } });
    expect(fake.turns.started).toMatchObject([
      {
        session: "ses_1",
        client: "opencode/1.18.33",
        project: "demo",
        graceMs: 90_000,
        retry: true,
        idempotencyKey: "k-1",
      },
      { graceMs: Number.POSITIVE_INFINITY, retry: false, idempotencyKey: undefined },
      { graceMs: Number.POSITIVE_INFINITY },
    ]);
    expect((await fake.request(path, { json: chat, headers: { "x-millrace-grace": "soon" } })).status).toBe(400);
    expect(
      (await fake.request(path, { json: chat, headers: { "idempotency-key": "a", "x-idempotency-key": "b" } })).status,
    ).toBe(400);
  });
});

describe("joining", () => {
  const key = { "idempotency-key": "k-1" };

  it("gives two requests with one key one turn, and says so", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const first = await openStream(fake, key);
    const second = await openStream(fake, key);
    expect(second.response.headers.get("x-millrace-joined")).toBe("key");
    expect(await second.reader.rest()).toEqual(await first.reader.rest());
    expect(fake.turns.started).toHaveLength(1);
  });

  it("refuses the key with another body, and lets another caller use it", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    await openStream(fake, key);
    const conflict = await fake.request(path, { json: { ...streamed, temperature: 1 }, headers: key });
    expect(conflict.status).toBe(422);
    expect(await conflict.json()).toMatchObject({ error: { code: "idempotency_conflict" } });
    const guest = await openStream(fake, { ...key, authorization: `Bearer ${guestKey}` });
    expect(guest.response.headers.get("x-millrace-joined")).toBe("no");
    expect(fake.turns.started).toHaveLength(2);
  });

  it("joins the same request without streaming to the turn that was streamed", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("slow")];
    const { reader } = await openStream(fake);
    await reader.cancel();
    fake.turns.emit(fake.turns.turnId(0), finished("slow"));
    const response = await fake.request(path, { json: { ...chat, stream: false } });
    expect(response.headers.get("x-millrace-joined")).toBe("implicit");
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: "slow" } }] });
  });

  it("starts a new turn for the same question after the earlier answer was delivered", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    await (await openStream(fake)).reader.rest();
    const again = await openStream(fake);
    expect(again.response.headers.get("x-millrace-joined")).toBe("no");
  });

  it("is one turn also when the client went away before the first byte", async () => {
    proves("http.early-abort");
    const fake = fakeGateway();
    const gone = new AbortController();
    const first = fake.request(path, { json: streamed, signal: gone.signal });
    await fake.clock.advance(0);
    gone.abort();
    expect((await first).status).toBe(499);
    expect(fake.turns.readers(fake.turns.turnId(0))).toBe(0);
    fake.turns.emit(fake.turns.turnId(0), ...answer);
    const second = await openStream(fake);
    expect(second.response.headers.get("x-millrace-joined")).toBe("implicit");
    expect(fake.turns.started).toHaveLength(1);
  });

  it("is nothing to warn of when the client goes away, however little of its request had come", async () => {
    const fake = fakeGateway();
    const gone = new AbortController();
    const first = fake.request(path, { json: streamed, signal: gone.signal });
    const body = new ReadableStream<Uint8Array>({
      start: (half) => half.enqueue(new TextEncoder().encode('{"model":')),
      pull: (half) => half.error(gone.signal.aborted ? gone.signal.reason : new Error("asked too early")),
    });
    await fake.clock.advance(0);
    gone.abort(new DOMException("The client closed the connection.", "AbortError"));
    const half = fake.request(path, { method: "POST", body, signal: gone.signal, duplex: "half" });
    expect([(await first).status, (await half).status]).toEqual([499, 499]);
    expect(fake.logged.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });
});

describe("resuming", () => {
  it("gives from any cut exactly what was missing", async () => {
    const fake = fakeGateway();
    const tool = { type: "function", function: { name: "now" } };
    const body = { ...streamed, tools: [tool], stream_options: { include_usage: true } };
    const call: TurnEventBody = { type: "tool_call", callId: "c", name: "now", argumentsDelta: "", done: true };
    fake.turns.script = () => [started, text("Hi"), { type: "rewritten", text: "Ho" }, call, finished("Ho")];
    const whole = await (await openStream(fake, { "idempotency-key": "k" }, body)).reader.rest();
    expect(whole.length).toBeGreaterThan(6);
    for (let cut = 0; cut < whole.length - 1; cut++) {
      const { reader, response } = await openStream(fake, { "last-event-id": whole[cut]?.id ?? "" }, body);
      expect(response.headers.get("x-millrace-joined")).toBe("last_event_id");
      expect(await reader.rest()).toEqual(whole.slice(cut + 1));
    }
    expect(fake.turns.started).toHaveLength(1);
  });

  it("says politely that nothing is left: 204, which is no stream that could pass for one that broke", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const whole = await (await openStream(fake)).reader.rest();
    const headers = { "last-event-id": whole.at(-1)?.id ?? "" };
    const response = await fake.request(path, { json: streamed, headers });
    expect(response.status).toBe(204);
    expect(response.headers.get("content-type")).toBeNull();
    expect(response.headers.get("x-millrace-joined")).toBe("last_event_id");
  });

  it("refuses a cursor past the end, running or ended, instead of ending without a word", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("Hi")];
    const { reader } = await openStream(fake);
    const [first] = [await reader.next()];
    const [turnId] = (first?.id ?? "").split(":");
    const ask = (eventId: string) =>
      fake.request(path, { json: streamed, headers: { "last-event-id": `${turnId}:${eventId}:0` } });
    for (const eventId of ["a3", "b10", "zzz"]) expect((await ask(eventId)).status).toBe(400);
    fake.turns.emit(fake.turns.turnId(0), finished("Hi"));
    await reader.rest();
    const refused = await ask("a4");
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { param: "last-event-id", hint: expect.stringContaining("leave it out") as unknown },
    });
    expect((await ask("a3")).status).toBe(200);
  });

  it("refuses a cursor that is not ours, of another caller, or of another request", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const [first] = await (await openStream(fake)).reader.rest();
    const headers = { "last-event-id": first?.id ?? "" };
    const status = async (more: Record<string, string>, body: unknown = streamed) =>
      (await fake.request(path, { json: body, headers: { ...headers, ...more } })).status;
    expect(await status({ "last-event-id": "17" })).toBe(400);
    expect(await status({ authorization: `Bearer ${guestKey}` })).toBe(400);
    expect(await status({}, { ...streamed, temperature: 0 })).toBe(422);
    expect(fake.turns.started).toHaveLength(1);
  });

  it("says with each way to come back until when the answer is kept now", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("Hi"), finished("Hi")];
    const [first] = await (await openStream(fake)).reader.rest();
    const json = { model: "test-model", input: "Hi" };
    const { id } = (await (await fake.request("/v1/responses", { json })).json()) as { id: string };
    const chatTurn = fake.turns.turnId(0);
    const ways: readonly (() => Promise<Response>)[] = [
      () => fake.request(path, { json: streamed, headers: { "last-event-id": first?.id ?? "" } }),
      () => fake.request(`/v1/turns/${chatTurn}/events?attach=1`),
      () => fake.request(`/v1/responses/${id}`),
      () => fake.request(`/v1/responses/${id}?stream=true`),
      () => fake.request(`/v1/responses/${id}?stream=true&starting_after=3`),
    ];
    for (const come of ways) {
      await fake.clock.advance(1_200_000);
      const expires = Date.parse((await come()).headers.get("x-millrace-expires") ?? "");
      expect(expires - fake.clock.now()).toBe(7_200_000);
    }
  });

  it("shows a caller nothing of another caller's turn, not even that it has expired", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const [first] = await (await openStream(fake)).reader.rest();
    const turnId = fake.turns.turnId(0);
    const never = `turn_${"0".repeat(26)}`;
    await fake.clock.advance(3 * 3_600_000);
    const asked = async (id: string, authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization };
      const cursor = (first?.id ?? "").replace(turnId, id);
      const responses = [
        await fake.request(path, { json: streamed, headers: { ...headers, "last-event-id": cursor } }),
        await fake.request(`/v1/turns/${id}`, { headers }),
        await fake.request(`/v1/turns/${id}/events`, { headers }),
        await fake.request(`/v1/turns/${id}/cancel`, { method: "POST", headers }),
        await fake.request(`/v1/turns/${id}/timeline`, { headers }),
      ];
      const said = async (response: Response) =>
        (await response.text()).replaceAll(/req_\w+/g, "req").replaceAll(id, "id");
      return Promise.all(responses.map(async (response) => [response.status, await said(response)]));
    };
    const guest = `Bearer ${guestKey}`;
    expect(await asked(turnId, guest)).toEqual(await asked(never, guest));
    expect((await asked(turnId)).map(([status]) => status)).toEqual([410, 410, 410, 410, 410]);
  });
});

describe("/v1/turns", () => {
  async function oneTurn(fake: FakeGateway) {
    fake.turns.script = () => [started, text("Hi")];
    await openStream(fake, { "user-agent": "tester/1" });
    return fake.turns.turnId(0);
  }

  it("lists turns without their prompts, each caller's own and all for the owner", async () => {
    const fake = fakeGateway();
    const turnId = await oneTurn(fake);
    const list = async (query = "", authorization?: string) => {
      const response = await fake.request(`/v1/turns${query}`, authorization ? { headers: { authorization } } : {});
      return ((await response.json()) as { data: unknown[] }).data;
    };
    expect(await list()).toEqual([
      {
        object: "turn",
        id: turnId,
        created_at: "2025-06-15T15:06:40.000Z",
        status: "running",
        delivered: false,
        degraded: false,
        expires_at: "2025-06-15T17:06:40.000Z",
        last_event_id: "a2",
        grace_ms: 120_000,
        dialect: "openai-chat",
        model: "test-model",
        model_uid: "uid-test-model",
        client: "tester/1",
        session: null,
        idempotency_key: null,
      },
    ]);
    expect(await list("?open=false")).toEqual([]);
    expect(await list("", `Bearer ${guestKey}`)).toEqual([]);
    expect(
      (await fake.request(`/v1/turns/${turnId}`, { headers: { authorization: `Bearer ${guestKey}` } })).status,
    ).toBe(404);
    expect((await fake.request("/v1/turns/turn_nothing")).status).toBe(404);
  });

  it("follows a turn's own events from any cursor, and stops politely at the end", async () => {
    const fake = fakeGateway();
    const turnId = await oneTurn(fake);
    const reader = new SseReader(await fake.request(`/v1/turns/${turnId}/events`));
    expect(await reader.next()).toMatchObject({ event: "started", id: "a1" });
    fake.turns.emit(turnId, finished("Hi"));
    expect((await reader.rest()).map((event) => event.event)).toEqual(["text", "finished"]);
    const after = new SseReader(await fake.request(`/v1/turns/${turnId}/events?after=a2`));
    expect((await after.rest()).map((event) => event.event)).toEqual(["finished"]);
    const headers = { "last-event-id": "a3" };
    expect((await fake.request(`/v1/turns/${turnId}/events`, { headers })).status).toBe(204);
    for (const cursor of ["a%20b", "7", "a01", "b10"]) {
      expect((await fake.request(`/v1/turns/${turnId}/events?after=${cursor}`)).status).toBe(400);
    }
    expect(fake.turns.delivered(turnId)).toBe(false);
    await new SseReader(await fake.request(`/v1/turns/${turnId}/events?attach=1`)).rest();
    expect(fake.turns.delivered(turnId)).toBe(true);
  });

  it("ends with the count and the digest of the events before, from any cursor", async () => {
    const fake = fakeGateway();
    const turnId = await oneTurn(fake);
    fake.turns.emit(turnId, finished("Hi"));
    const from = async (after: string) =>
      new SseReader(await fake.request(`/v1/turns/${turnId}/events?after=${after}`)).rest();
    const all = await from("0");
    let head = Buffer.alloc(0);
    for (const { data } of all.slice(0, -1)) head = createHash("sha256").update(head).update(data).digest();
    const proof = { eventCount: all.length - 1, chainDigest: head.toString("base64url") };
    expect(JSON.parse(all.at(-1)?.data ?? "")).toMatchObject({ type: "finished", ...proof });
    for (const [at, { id }] of all.slice(0, -1).entries()) expect(await from(id ?? "")).toEqual(all.slice(at + 1));
  });

  it("cancels a turn, twice with the same result", async () => {
    const fake = fakeGateway();
    const turnId = await oneTurn(fake);
    for (let i = 0; i < 2; i++) {
      const response = await fake.request(`/v1/turns/${turnId}/cancel`, { method: "POST" });
      expect(await response.json()).toMatchObject({ id: turnId, status: "cancelled" });
    }
    const guest = { method: "POST", headers: { authorization: `Bearer ${guestKey}` } };
    expect((await fake.request(`/v1/turns/${turnId}/cancel`, guest)).status).toBe(404);
  });
});

describe("what goes wrong", () => {
  it("separates a bug from a refusal: the log gets the details, and the client does not", async () => {
    const fake = fakeGateway();
    fake.turns.refuses = new TypeError("secret path /home/someone") as unknown as MillraceError; // a bug, not one of ours
    const response = await fake.request(path, { json: chat });
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("/home/someone");
    expect(JSON.stringify(fake.logged)).toContain("/home/someone");
  });

  it("logs no body, prompt or key", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const secretChat = { ...chat, messages: [{ role: "user", content: "canary-prompt" }] };
    await (await fake.request(path, { json: secretChat })).text();
    await fake.request(path, { json: { ...secretChat, n: 3 }, headers: { "x-api-key": "canary-key-0123456789" } });
    expect(JSON.stringify(fake.logged)).not.toMatch(/canary|mr-test-key|Hi there/);
  });

  it("answers also when the store cannot show the turn's record", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    fake.turns.degraded = true;
    fake.turns.get = async () => {
      throw new MillraceError("degraded", "The disk is full.");
    };
    const response = await fake.request(path, { json: chat });
    expect(response.headers.get("x-millrace-degraded")).toBe("true");
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: "Hi there." } }] });
  });

  it("passes on what the turns refuse", async () => {
    const fake = fakeGateway();
    fake.turns.refuses = new MillraceError("expired", "The answer is no longer kept.");
    expect((await fake.request(path, { json: chat })).status).toBe(410);
  });
});
