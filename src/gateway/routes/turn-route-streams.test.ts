import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import { MillraceError } from "../../base/errors.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import { answer, chat, failed, openStream, path, settled, streamed, whileTimePasses } from "./turn-route.fake.ts";

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

  it.each(["/v1/chat/completions", "/v1/completions"])(
    "of %s has ids only for a client that can resume it: Go's client takes each other line for a part of an error",
    async (at) => {
      const fake = fakeGateway();
      fake.turns.script = () => answer;
      const body = { model: "test-model", stream: true, ...(at === path ? chat : { prompt: "Hello" }) };
      const linesOf = async (headers = {}) => {
        const text = await (await fake.request(at, { json: body, headers })).text();
        return text.split("\n").filter((line) => line !== "" && !line.startsWith("data: "));
      };
      expect(await linesOf()).toEqual([]);
      for (const headers of [{ "idempotency-key": "k" }, { "last-event-id": "" }])
        expect((await linesOf(headers))[0]).toMatch(/^id: turn_/);
    },
  );

  it.each([
    ["/v1/chat/completions", chat],
    ["/v1/completions", { prompt: "x" }],
    ["/v1/responses", { input: "x" }],
    ["/v1/messages", { ...chat, max_tokens: 9 }],
    ["/api/chat", chat],
  ])(
    "of %s that fails in the middle is cut after its error: no client takes the half for the whole",
    async (at, more) => {
      const fake = fakeGateway();
      fake.turns.script = () => [started, text("half"), failed("upstream_failed")];
      const body = { model: "test-model", stream: true, ...more };
      const reader = new SseReader(await fake.request(at, { json: body }));
      await reader.rest();
      expect([reader.isCut, reader.bytes.includes("The upstream said no."), reader.bytes.includes("[DONE]")]).toEqual([
        true,
        true,
        false,
      ]);
      const events = new SseReader(await fake.request(`/v1/turns/${fake.turns.turnId(0)}/events`));
      expect((await events.rest()).at(-1)?.event).toBe("failed");
      expect(events.isCut).toBe(false);
    },
  );

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
    turns.look = (turnId, after, signal) => {
      const events = turns.follow(turnId, after, signal);
      let isOver = false;
      return async () => {
        const { value } = isOver ? {} : await events.next();
        isOver = value?.type === "text";
        return value ? [value] : undefined;
      };
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
    turns.look = (turnId, after, signal) => {
      const events = turns.follow(turnId, after, signal);
      let isBroken = false;
      return async () => {
        if (isBroken) throw new Error("SQLITE_CORRUPT at /home/someone/turns.db");
        const { value } = await events.next();
        isBroken = value?.type === "text";
        return value ? [value] : undefined;
      };
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

  it("sends a waiting client its position, in the no-op chunk itself: an event without data would end the streams of some clients", async () => {
    const fake = fakeGateway();
    const pending = openStream(fake);
    await fake.clock.advance(0);
    const turnId = fake.turns.turnId(0);
    const { reader } = await whileTimePasses(fake, pending);
    await reader.next();
    fake.turns.places.set(turnId, { position: 2, of: 5 });
    await whileTimePasses(fake, reader.next(), () => fake.turns.alive(turnId));
    expect(reader.bytes).toContain('"millrace":{"queue":"waiting, position 2 of 5 in the queue"}');
    for (const block of reader.bytes.split("\n\n").filter((block) => block !== "")) expect(block).toMatch(/^data: /m);
    const described = await fake.request(`/v1/turns/${turnId}`);
    expect(await described.json()).toMatchObject({ queue: { position: 2, of: 5 } });
    fake.turns.places.clear();
    fake.turns.emit(turnId, started, text("late"), finished("late"));
    const rest = await reader.rest();
    expect(rest.at(-1)?.data).toBe("[DONE]");
    expect(reader.bytes.match(/waiting/g)).toHaveLength(1);
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
