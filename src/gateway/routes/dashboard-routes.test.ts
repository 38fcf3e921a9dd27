import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import { until } from "../../base/wait.fake.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import type { Resumption } from "../../usage/history/resumption.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import { readDashboard } from "../dashboard/dashboard-files.ts";
import { fakeGateway, guestKey } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { idleMeter } from "../idle-meter.fake.ts";
import type { GatewayMeter } from "../options.ts";

const anonymous = { authorization: "" };

/** A built dashboard in a folder of its own. */
function builtDashboard() {
  const folder = mkdtempSync(join(tmpdir(), "millrace-dashboard-"));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>Millrace</title><style>b{}</style>");
  writeFileSync(join(folder, "assets", "index-abc123.js"), "export {};");
  writeFileSync(join(folder, "notes.txt"), "not for the web");
  return readDashboard(folder);
}

const ask = (text = "Hi") => ({ model: "test-model", messages: [{ role: "user", content: text }] });

async function signedIn(fake: ReturnType<typeof fakeGateway>): Promise<Record<string, string>> {
  const link = (await (await fake.request("/v1/dashboard/link", { method: "POST" })).json()) as { path: string };
  const response = await fake.request(link.path, { headers: anonymous });
  expect(response.status).toBe(303);
  const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
  return { authorization: "", cookie, "sec-fetch-site": "same-origin" };
}

describe("the dashboard's files", () => {
  it("are served without a key, under a policy that allows nothing from elsewhere, and inline only what was built into the page", async () => {
    const fake = fakeGateway({ dashboard: builtDashboard() });
    const page = await fake.request("/", { headers: anonymous });
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("<title>Millrace</title>");
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    const built = createHash("sha256").update("b{}").digest("base64");
    expect(policy.split("; ")).toEqual(
      expect.arrayContaining(["script-src 'self'", `style-src 'self' 'sha256-${built}'`]),
    );
    expect(page.headers.get("cache-control")).toBe("no-cache");
    const script = await fake.request("/assets/index-abc123.js", { headers: anonymous });
    expect(script.headers.get("content-type")).toContain("text/javascript");
    expect(script.headers.get("cache-control")).toContain("immutable");
  });

  it("are only those that were built: no other path opens", async () => {
    const fake = fakeGateway({ dashboard: builtDashboard() });
    for (const path of ["/notes.txt", "/assets/../index.html.map", "/assets/%2e%2e/package.json", "/assets/other.js"]) {
      expect((await fake.request(path, { headers: anonymous })).status).toBe(401);
      expect((await fake.request(path)).status).toBe(404);
    }
  });

  it("are undefined where the dashboard was not built: a short page stands there", async () => {
    expect(readDashboard(join(tmpdir(), "millrace-nothing-here"))).toBeUndefined();
    expect(await (await fakeGateway().request("/", { headers: anonymous })).text()).toContain("local gateway");
  });
});

describe("signing in", () => {
  it("takes a link that only the owner's key makes, once, and sets a cookie that no script and no other site can use", async () => {
    const fake = fakeGateway();
    expect((await fake.request("/v1/dashboard/link", { method: "POST", headers: anonymous })).status).toBe(401);
    const guest = { authorization: `Bearer ${guestKey}` };
    expect((await fake.request("/v1/dashboard/link", { method: "POST", headers: guest })).status).toBe(403);
    const { path } = (await (await fake.request("/v1/dashboard/link", { method: "POST" })).json()) as { path: string };
    expect(path).toMatch(/^\/sign-in\?code=[\w-]{43}$/);
    const first = await fake.request(path, { headers: anonymous });
    expect([first.status, first.headers.get("location")]).toEqual([303, "/"]);
    expect(first.headers.get("set-cookie")).toMatch(
      /^millrace_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const again = await fake.request(path, { headers: anonymous });
    expect([again.status, again.headers.get("set-cookie")]).toEqual([403, null]);
    expect(await again.text()).toContain("millrace dashboard");
    // Where the dashboard is built, its own page stands there and says it.
    const built = fakeGateway({ dashboard: builtDashboard() });
    const page = await built.request("/sign-in?code=made-up", { headers: anonymous });
    expect([page.status, page.headers.get("content-type")]).toEqual([403, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain("<title>Millrace</title>");
    expect(JSON.stringify(fake.logged)).not.toContain(path.split("=")[1]);
  });

  it("opens what the owner's key opens, only from this origin", async () => {
    const fake = fakeGateway();
    const session = await signedIn(fake);
    expect((await fake.request("/v1/turns", { headers: session })).status).toBe(200);
    for (const site of ["cross-site", "same-site", ""]) {
      const headers = { ...session, "sec-fetch-site": site };
      expect((await fake.request("/v1/turns", { headers })).status).toBe(401);
    }
    const foreign = { ...session, origin: "http://127.0.0.1:9999" };
    expect((await fake.request("/v1/turns", { headers: foreign })).status).toBe(403);
  });

  it("ends by signing out, and by itself after twelve hours", async () => {
    const clock = new FakeClock();
    const fake = fakeGateway({ clock });
    const [one, other] = [await signedIn(fake), await signedIn(fake)];
    const out = await fake.request("/sign-out", { method: "POST", headers: one });
    expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
    expect((await fake.request("/v1/turns", { headers: one })).status).toBe(401);
    expect((await fake.request("/v1/turns", { headers: other })).status).toBe(200);
    await clock.advance(12 * 3_600_000 + 1);
    expect((await fake.request("/v1/turns", { headers: other })).status).toBe(401);
  });

  it("is refused with a link older than two minutes, and with a made-up code", async () => {
    const clock = new FakeClock();
    const fake = fakeGateway({ clock });
    const { path } = (await (await fake.request("/v1/dashboard/link", { method: "POST" })).json()) as { path: string };
    await clock.advance(120_001);
    expect((await fake.request(path, { headers: anonymous })).status).toBe(403);
    expect((await fake.request("/sign-in?code=", { headers: anonymous })).status).toBe(403);
    expect((await fake.request("/sign-in", { headers: anonymous })).status).toBe(403);
  });
});

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
    const reader = new SseReader(await fake.request("/v1/turns/feed"));
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
    expect(await (await fake.request(`/v1/turns/${id}/summary`)).json()).toMatchObject({
      object: "turn.summary",
      status: "running",
      characters: 3,
      tokens: { prompt: 9 },
    });
    fake.turns.emit(turnId, { type: "finished", reason: { unified: "stop", raw: undefined }, text: "secret" });
    const events = await new SseReader(await fake.request(`/v1/turns/${id}/timeline`)).rest();
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
    const onlooker = new SseReader(await fake.request(`/v1/turns/${id}/timeline`));
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
    expect(await (await fake.request(`/v1/turns/${id}/summary`)).json()).toMatchObject({ resumptions: expected });
    const told = await onlooker.rest();
    expect(told.map(({ event }) => event)).toEqual(["resumption", "resumption", "resumption", "entry", "entry"]);
    expect(told.slice(0, 3).map(({ data }) => JSON.parse(data) as unknown)).toEqual(expected);
    // A reader from the start is no return, and a gateway without a meter does not know returns.
    await (await fake.request(`/v1/turns/${id}/events`)).body?.cancel();
    expect(kept).toHaveLength(3);
    const blind = fakeGateway();
    const other = await startTurn(blind, "x");
    expect(await (await blind.request(`/v1/turns/${other}/summary`)).json()).toMatchObject({ resumptions: null });
  });

  it("show a client's return at once, on the turn's page and in the list, although the turn is silent", async () => {
    const clock = new FakeClock();
    const { meter, events } = rememberedReturns();
    const fake = fakeGateway({ clock, meter, events });
    const id = await startTurn(fake, "a question");
    const page = new SseReader(await fake.request(`/v1/turns/${id}/timeline`));
    const list = new SseReader(await fake.request("/v1/turns/feed"));
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

  it("show texts only where the user turned that on", async () => {
    const body = {
      model: "test-model",
      messages: [
        { role: "system", content: "rules" },
        { role: "user", content: "secret" },
      ],
    };
    for (const dashboardText of [false, true]) {
      const fake = fakeGateway({ dashboardText });
      void fake.request("/v1/chat/completions?detach=1", { json: body });
      await until(() => fake.turns.started.length !== 0);
      const turnId = fake.turns.turnId(0);
      const end: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "secret" };
      fake.turns.emit(turnId, { type: "thinking", delta: "secret" }, { type: "text", delta: "secret" }, end);
      const summary = await (await fake.request(`/v1/turns/${turnId}/summary`)).json();
      const timeline = await new SseReader(await fake.request(`/v1/turns/${turnId}/timeline`)).rest();
      const texts = timeline.map(({ data }) => (JSON.parse(data) as { text?: string }).text);
      const prompt = [
        { role: "system", text: "rules" },
        { role: "user", text: "secret" },
      ];
      expect(summary).toMatchObject({ shows_text: dashboardText, prompt: dashboardText ? prompt : null });
      expect(texts).toEqual(dashboardText ? ["secret", "secret", null] : [undefined, undefined, undefined]);
      expect(JSON.stringify([summary, timeline]).includes("secret")).toBe(dashboardText);
    }
  });

  it("are all that a session opens: it reads no text, starts no turn and makes no other session", async () => {
    const fake = fakeGateway({ dashboardText: true });
    const session = await signedIn(fake);
    const id = await startTurn(fake, "secret");
    const closed = [
      ["GET", `/v1/turns/${id}/events`],
      ["GET", `/v1/responses/${id}`],
      ["POST", "/v1/chat/completions"],
      ["POST", "/v1/messages"],
      ["POST", "/v1/dashboard/link"],
      ["GET", "/metrics"],
    ] as const;
    for (const [method, path] of closed)
      expect((await fake.request(path, { method, headers: session })).status, `${method} ${path}`).toBe(401);
    for (const path of ["/v1/turns", `/v1/turns/${id}/summary`, "/health"])
      expect((await fake.request(path, { headers: session })).status).toBe(200);
  });

  it("are the owner's, and those of others are like none", async () => {
    const fake = fakeGateway();
    const id = await startTurn(fake, "mine");
    const guest = { authorization: `Bearer ${guestKey}` };
    expect((await fake.request("/v1/turns/feed", { headers: guest })).status).toBe(403);
    for (const view of ["summary", "timeline"])
      expect((await fake.request(`/v1/turns/${id}/${view}`, { headers: guest })).status).toBe(404);
  });
});
