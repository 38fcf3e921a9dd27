import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import { until } from "../../base/wait.fake.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import type { Resumption } from "../../usage/history/resumption.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import { fakeGateway, guestKey } from "../gateway.fake.ts";
import type { GatewayMeter } from "../http/options.ts";
import { SseReader } from "../http/sse.fake.ts";
import { idleMeter } from "../idle-meter.fake.ts";
import { signedIn } from "./signed-in.fake.ts";

const ask = (text = "Hi") => ({ model: "test-model", messages: [{ role: "user", content: text }] });

/** Returns to turns in memory, as the meter keeps them. */
function rememberedReturns() {
  const kept: Resumption[] = [];
  const events = new Emitter<TurnLifecycle & UsageLifecycle>();
  const meter: GatewayMeter = {
    ...idleMeter,
    recordResumption(resumption) {
      kept.push(resumption);
      events.emit("turn_resumed", resumption);
    },
    resumptions: (turnId) => kept.filter((one) => one.turnId === turnId),
  };
  return { meter, events, kept };
}

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

  it("show which client came back, when, how and from where, in the summary and between the events", async () => {
    const clock = new FakeClock();
    const { meter, events, kept } = rememberedReturns();
    const fake = fakeGateway({ clock, meter, events });
    const key = { "idempotency-key": "k-1" };
    const id = await startTurn(fake, "a question", key);
    const turnId = fake.turns.turnId(0);
    const end: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "ab" };
    fake.turns.emit(turnId, { type: "text", delta: "a" });
    const onlooker = new SseReader(await fake.request(`/dashboard/api/turns/${id}/timeline`));
    expect((await onlooker.next())?.event).toBe("entry");
    await clock.advance(1000);
    const agent = { "user-agent": "opencode/1.2.3 (linux)" };
    const after = (await fake.turns.get(turnId))?.lastEventId ?? "";
    const resumed = await fake.request(`/v1/turns/${id}/events?attach=1`, {
      headers: { ...agent, "last-event-id": after },
    });
    await resumed.body?.cancel();
    const cursor = { "last-event-id": `${id}:${after}:0`, ...agent };
    const stream = fake.request("/v1/chat/completions", {
      json: ask("a question"),
      headers: cursor,
    });
    const again = fake.request("/v1/chat/completions", { json: ask("a question"), headers: key });
    await until(() => kept.length >= 3);
    fake.turns.emit(turnId, { type: "text", delta: "b" }, end);
    await (await stream).body?.cancel();
    expect((await again).headers.get("x-millrace-joined")).toBe("key");
    const at = new Date(clock.now()).toISOString();
    const expected = [
      { at, how: "cursor", after, client: "opencode/1.2.3" },
      { at, how: "last_event_id", after, client: "opencode/1.2.3" },
      { at, how: "key", after: "0", client: null },
    ];
    expect(await (await fake.request(`/dashboard/api/turns/${id}/summary`)).json()).toMatchObject({
      resumptions: expected,
    });
    const told = await onlooker.rest();
    expect(told.map(({ event }) => event)).toEqual(["resumption", "resumption", "resumption", "entry", "entry"]);
    expect(told.slice(0, 3).map(({ data }) => JSON.parse(data) as unknown)).toEqual(expected);
    // A reader from the start is no return, and a gateway without a meter does not know returns.
    await (await fake.request(`/v1/turns/${id}/events`)).body?.cancel();
    expect(kept).toHaveLength(3);
    const blind = fakeGateway();
    const other = await startTurn(blind, "x");
    expect(await (await blind.request(`/dashboard/api/turns/${other}/summary`)).json()).toMatchObject({
      resumptions: null,
    });
  });

  it("show a client's return at once, on the turn's page and in the list, although the turn is silent", async () => {
    const clock = new FakeClock();
    const { meter, events } = rememberedReturns();
    const fake = fakeGateway({ clock, meter, events });
    const id = await startTurn(fake, "a question");
    const page = new SseReader(await fake.request(`/dashboard/api/turns/${id}/timeline`));
    const list = new SseReader(await fake.request("/dashboard/api/turns/feed"));
    expect(JSON.parse((await list.next())?.data ?? "")).toMatchObject([{ id, returns: 0 }]);
    for (const returns of [1, 2]) {
      const back = await fake.request(`/v1/turns/${id}/events?attach=1`);
      expect(await page.next()).toMatchObject({ event: "resumption" });
      const told = list.next();
      await clock.advance(300);
      expect(JSON.parse((await told)?.data ?? "")).toMatchObject({ id, status: "running", returns });
      await back.body?.cancel();
    }
    await page.cancel();
    await list.cancel();
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
