import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { listedMembers } from "../../usage/turn-page-envelope.ts";
import { type FakeGateway, fakeGateway, guestKey } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import { foundTurnsSchema, turnListSchema } from "./answer-schemas.ts";
import { signedIn } from "./signed-in.fake.ts";
import { openStream } from "./turn-route.fake.ts";

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
        ended_at: null,
        model_name: "test-model",
        project: null,
        ide: null,
        first_token_ms: null,
        reason: null,
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

  it("has the same members in every list, by one writer", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [
      { type: "text", delta: "Hi" },
      { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Hi" },
    ];
    await fake.request("/v1/chat/completions", {
      json: { model: "test-model", messages: [{ role: "user", content: "Hello" }] },
      headers: { "x-millrace-project": "engine", "user-agent": "tester/1" },
    });
    const of = async (path: string) => (await (await fake.request(path)).json()) as Record<string, unknown>;
    const first = (list: Record<string, unknown>) => (list["data"] as Record<string, unknown>[])[0] ?? {};
    const listed = first(await of("/v1/turns"));
    const id = String(listed["id"]);
    const lists = [
      await of(`/v1/turns/${id}`),
      await of(`/dashboard/api/turns/${id}/summary`),
      first(await of("/dashboard/api/turns/search?text=hello")),
    ];
    expect(listed).toMatchObject({ client: "tester/1", project: "engine", reason: "stop", first_token_ms: 0 });
    for (const list of lists)
      for (const member of Object.keys(listedMembers)) expect([member, list[member]]).toEqual([member, listed[member]]);
  });

  it("tells the questions to a key that asks for them, and to a session only where it shows texts", async () => {
    const fake = fakeGateway();
    await oneTurn(fake);
    const questions = async (query: string, headers: Readonly<Record<string, string>> = {}) =>
      turnListSchema
        .parse(await (await fake.request(`/v1/turns${query}`, { headers })).json())
        .data.map(({ question }) => question);
    expect(await questions("")).toEqual([undefined]);
    expect(await questions("?questions=1")).toEqual(["Hello"]);
    expect(await questions("?questions=1", await signedIn(fake))).toEqual([undefined]);
    expect(await questions("?questions=1", await signedIn(fake, true))).toEqual(["Hello"]);
  });

  it("finds turns by their newest question and by their answer, in any case of letters, and says what it searched", async () => {
    const fake = fakeGateway();
    await oneTurn(fake);
    const find = async (search: string, headers: Readonly<Record<string, string>> = {}) => {
      const query = new URLSearchParams({ text: search }).toString();
      return fake.request(`/dashboard/api/turns/search?${query}`, { headers });
    };
    const found = async (search: string) => foundTurnsSchema.parse(await (await find(search)).json());
    expect(await found("HELL")).toMatchObject({ data: [{ excerpt: "Hello" }], searched: 1, sealed: 0 });
    expect(await found(" hi ")).toMatchObject({ data: [{ excerpt: "Hi", status: "running" }] });
    expect(await found("nothing like it")).toMatchObject({ data: [], searched: 1 });
    expect(await found("")).toMatchObject({ data: [], searched: 0 });
    expect((await find("hi", await signedIn(fake))).status).toBe(400);
    expect((await find("hi", await signedIn(fake, true))).status).toBe(200);
    expect((await find("hi", { authorization: `Bearer ${guestKey}` })).status).toBe(403);
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
