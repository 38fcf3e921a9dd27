import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { until } from "../../base/wait.fake.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { fakeGateway, guestKey } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { signedIn } from "./signed-in.fake.ts";

const ask = (text = "Hi") => ({ model: "test-model", messages: [{ role: "user", content: text }] });

describe("turns for an onlooker", () => {
  const usage: TurnEventBody = {
    type: "usage",
    promptTokens: 9,
    completionTokens: 3,
    thinkingTokens: 1,
    estimated: false,
  };

  async function startTurn(
    fake: ReturnType<typeof fakeGateway>,
    text: string,
    headers: Record<string, string> = {},
  ): Promise<string> {
    const count = fake.turns.started.length + 1;
    void fake.request("/v1/chat/completions?detach=1", { json: ask(text), headers });
    await until(() => fake.turns.started.length >= count);
    return fake.turns.turnId(count - 1);
  }

  it("are reported as they begin, grow and end, without any of their text", async () => {
    const clock = new FakeClock();
    const fake = fakeGateway({ clock });
    const before = await startTurn(fake, "first secret");
    const reader = new SseReader(await fake.request("/dashboard/api/turns/feed"));
    const list = await reader.next();
    expect(list?.event).toBe("turns");
    expect(JSON.parse(list?.data ?? "")).toMatchObject([
      { id: before, status: "running", characters: 0, outcome: null },
    ]);
    const next = async () => {
      const event = reader.next();
      await clock.advance(300);
      return JSON.parse((await event)?.data ?? "{}") as Record<string, unknown>;
    };
    const id = fake.turns.turnId(0);
    fake.turns.emit(id, { type: "text", delta: "secret answer" }, usage);
    expect(await next()).toMatchObject({ id, characters: 13, tokens: { prompt: 9, completion: 3, estimated: false } });
    const second = await startTurn(fake, "second secret");
    expect(await next()).toMatchObject({ id: second, status: "running" });
    await fake.request(`/v1/turns/${id}/cancel`, { method: "POST" });
    expect(await next()).toMatchObject({ id, status: "ended", outcome: "cancelled", reason: "client" });
    await reader.cancel();
    expect(reader.bytes).not.toContain("secret");
  });

  it("say when they go on without their client, and until when", async () => {
    const clock = new FakeClock();
    const fake = fakeGateway({ clock });
    const here = new AbortController();
    const asked = fake.request("/v1/chat/completions", { json: { ...ask(), stream: true }, signal: here.signal });
    await until(() => fake.turns.started.length === 1);
    await until(() => fake.turns.readers(fake.turns.turnId(0)) === 1);
    const reader = new SseReader(await fake.request("/dashboard/api/turns/feed"));
    expect(JSON.parse((await reader.next())?.data ?? "")).toMatchObject([{ status: "running", without_client: null }]);
    here.abort();
    await asked.catch(() => undefined);
    await until(() => fake.turns.readers(fake.turns.turnId(0)) === 0);
    const event = reader.next();
    await clock.advance(600);
    const at = new Date(clock.now() - 600);
    expect(JSON.parse((await event)?.data ?? "{}")).toMatchObject({
      without_client: { since: at.toISOString(), until: new Date(at.getTime() + 120_000).toISOString() },
    });
    await reader.cancel();
  });

  it("come with word of a pause, a store or IDEs that have changed, soon and once", async () => {
    const clock = new FakeClock();
    let [since, ides]: [string | null, string] = [null, "1"];
    const pauseState = () => (since === null ? null : { since });
    const fake = fakeGateway({ clock, pauseState, idesMark: () => ides });
    const reader = new SseReader(await fake.request("/dashboard/api/turns/feed"));
    expect(await reader.next()).toMatchObject({ event: "turns" });
    const next = async () => {
      const event = reader.next();
      await clock.advance(600);
      return (await event)?.event;
    };
    since = "2026-01-02T10:20:00.000Z";
    expect(await next()).toBe("state");
    ides = "2";
    expect(await next()).toBe("state");
    void startTurn(fake, "first");
    expect(await next()).toBe("turn");
    await reader.cancel();
  });

  it("have a summary up to now and a timeline of events with their sizes", async () => {
    const fake = fakeGateway();
    const id = await startTurn(fake, "secret");
    const turnId = fake.turns.turnId(0);
    fake.turns.emit(
      turnId,
      { type: "text", delta: "secret" },
      { type: "tool_call", callId: "c", name: "read_file", argumentsDelta: '{"path":"secret"}', done: true },
      usage,
      { type: "rewritten", text: "sec" },
    );
    expect(await (await fake.request(`/dashboard/api/turns/${id}/summary`)).json()).toMatchObject({
      object: "turn.summary",
      status: "running",
      characters: 3,
      tokens: { prompt: 9 },
    });
    fake.turns.emit(turnId, { type: "finished", reason: { unified: "stop", raw: undefined }, text: "secret" });
    const events = await new SseReader(await fake.request(`/dashboard/api/turns/${id}/timeline`)).rest();
    const entries = events.map(({ data }) => JSON.parse(data) as Record<string, unknown>);
    expect(entries.map(({ type, characters, detail }) => [type, characters, detail])).toEqual([
      ["text", 6, null],
      ["tool_call", 17, "read_file"],
      ["usage", null, "9 in, 4 out"],
      ["rewritten", 3, null],
      ["finished", null, "stop"],
    ]);
    expect(JSON.stringify(events)).not.toContain("secret");
  });

  it("show texts only in a session whose owner agreed to it", async () => {
    const body = {
      model: "test-model",
      messages: [
        { role: "system", content: "rules" },
        { role: "user", content: "secret" },
      ],
    };
    for (const areShown of [false, true]) {
      const fake = fakeGateway();
      const headers = await signedIn(fake, areShown);
      void fake.request("/v1/chat/completions?detach=1", { json: body });
      await until(() => fake.turns.started.length !== 0);
      const turnId = fake.turns.turnId(0);
      const end: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "secret" };
      fake.turns.emit(turnId, { type: "thinking", delta: "secret" }, { type: "text", delta: "secret" }, end);
      const summary = await (await fake.request(`/dashboard/api/turns/${turnId}/summary`, { headers })).json();
      const timeline = await new SseReader(
        await fake.request(`/dashboard/api/turns/${turnId}/timeline`, { headers }),
      ).rest();
      const texts = timeline.map(({ data }) => (JSON.parse(data) as { text?: string }).text);
      const prompt = [
        { role: "system", text: "rules" },
        { role: "user", text: "secret" },
      ];
      expect(summary).toMatchObject({ shows_text: areShown, prompt: areShown ? prompt : null });
      expect(texts).toEqual(areShown ? ["secret", "secret", null] : [undefined, undefined, undefined]);
      expect(JSON.stringify([summary, timeline]).includes("secret")).toBe(areShown);
    }
  });

  it("are all that a session opens, with texts or not: it starts no turn and makes no other session", async () => {
    const fake = fakeGateway();
    const session = await signedIn(fake, true);
    const id = await startTurn(fake, "secret");
    const closed = [
      ["GET", `/v1/turns/${id}/events`],
      ["GET", `/v1/responses/${id}`],
      ["POST", "/v1/chat/completions"],
      ["POST", "/v1/messages"],
      ["POST", "/dashboard/api/link"],
      ["GET", "/metrics"],
    ] as const;
    for (const [method, path] of closed)
      expect((await fake.request(path, { method, headers: session })).status, `${method} ${path}`).toBe(401);
    for (const path of ["/v1/turns", `/dashboard/api/turns/${id}/summary`, "/health"])
      expect((await fake.request(path, { headers: session })).status).toBe(200);
  });

  it("are the owner's, and those of others are like none", async () => {
    const fake = fakeGateway();
    const id = await startTurn(fake, "mine");
    const guest = { authorization: `Bearer ${guestKey}` };
    expect((await fake.request("/dashboard/api/turns/feed", { headers: guest })).status).toBe(403);
    for (const view of ["summary", "timeline"])
      expect((await fake.request(`/dashboard/api/turns/${id}/${view}`, { headers: guest })).status).toBe(404);
  });
});
