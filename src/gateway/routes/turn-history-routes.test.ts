import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { turnFake } from "../../usage/history/history.fake.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { openMeter } from "../../usage/meter.ts";
import { turnBarsSchema, turnPageSchema } from "../../usage/turn-page-envelope.ts";
import { type FakeGateway, fakeGateway, guestKey } from "../gateway.fake.ts";

let history: UsageHistory;
let fake: FakeGateway;
const nowMs = Date.parse("2026-02-24T12:00:00Z");

beforeEach(() => {
  const clock = new FakeClock(nowMs);
  history = openHistory({ file: ":memory:" });
  fake = fakeGateway({ clock, meter: openMeter({ readPlan: () => Promise.resolve([]), history, clock }) });
  for (let index = 0; index < 40; index++) {
    history.addTurn(
      turnFake({
        turnId: `turn_${index}`,
        endedAtMs: nowMs - 1000 - index * 60_000,
        client: index % 2 === 0 ? "opencode" : "codex",
        model: "claude-opus-4-5",
        modelName: "claude-opus-4.5:high",
        promptTokens: 100 + index,
        firstTokenMs: index === 39 ? undefined : 100 * (index + 1),
        outcome: index % 10 === 3 ? "failed" : "finished",
        reason: index % 10 === 3 ? "quota_exhausted" : "stop",
        creditsHundredths: index === 0 ? undefined : 50,
      }),
    );
  }
});

afterEach(() => history.close());

const page = async (query: string) =>
  turnPageSchema.parse(await (await fake.request(`/dashboard/api/usage/turns?${query}`)).json());
const ids = async (query: string) => (await page(query)).data.map(({ id }) => id);

describe("GET /dashboard/api/usage/turns", () => {
  it("answers the newest first, page by page, with the name that a model had", async () => {
    expect(await ids("limit=2")).toEqual(["turn_0", "turn_1"]);
    expect(await ids("limit=2&offset=38")).toEqual(["turn_38", "turn_39"]);
    expect(await ids("limit=2&offset=40")).toEqual([]);
    expect((await page("limit=1")).data[0]).toMatchObject({
      model: "claude-opus-4-5",
      model_name: "claude-opus-4.5:high",
      tokens: { in: 100, out: 25, estimated: false },
      credits: null,
      status: "finished",
    });
  });

  it("sums over all that match, not over the page", async () => {
    const { totals } = await page("limit=0");
    expect(totals).toMatchObject({ turns: 40, failed: 4, credits: 19.5, credits_known_turns: 39 });
    expect([totals?.median_first_token_ms, totals?.p95_first_token_ms]).toEqual([2000, 3800]);
    expect((await page("limit=0&since=2026-02-24T11:58:30Z")).totals?.turns).toBe(15); // from the quarter of an hour on
    expect((await page("limit=1&client=codex&status=failed")).totals?.turns).toBe(4);
    expect((await page("limit=0&client=nobody")).totals).toMatchObject({ turns: 0, median_first_token_ms: null });
  });

  it("sums apart what failed by its own request, and counts estimates", async () => {
    const mistaken = {
      turnId: "turn_bad",
      endedAtMs: nowMs - 500,
      outcome: "failed",
      reason: "invalid_request",
    } as const;
    history.addTurn(turnFake({ ...mistaken, tokenSource: "estimated" }));
    expect((await page("limit=0")).totals).toMatchObject({ turns: 41, failed: 5, mistaken: 1, estimated_turns: 1 });
  });

  it("leaves the sums out when they are not wanted", async () => {
    expect(await page("totals=0&limit=1")).toMatchObject({ totals: null, data: [{ id: "turn_0" }] });
  });

  it("sorts by any column, with what is not known at the end either way", async () => {
    expect(await ids("sort=tokens_in&order=desc&limit=1")).toEqual(["turn_39"]);
    expect(await ids("sort=first_token&order=asc&limit=1")).toEqual(["turn_0"]);
    for (const order of ["asc", "desc"]) expect((await ids(`sort=first_token&order=${order}`)).at(-1)).toBe("turn_39");
    expect((await fake.request("/dashboard/api/usage/turns?sort=drop%20table")).status).toBe(400);
  });

  it("searches ids, clients, error codes and names of models, and takes the signs of patterns as they are", async () => {
    expect(await ids("search=TURN_39")).toEqual(["turn_39"]);
    expect((await page("search=quota_ex&limit=0")).totals?.turns).toBe(4);
    expect((await page("search=opus-4.5:high&limit=0")).totals?.turns).toBe(40);
    expect((await page("search=%25&limit=0")).totals?.turns).toBe(0);
    expect(await ids("id=turn_7")).toEqual(["turn_7"]);
  });

  it("is the owner's alone", async () => {
    expect(
      (await fake.request("/dashboard/api/usage/turns", { headers: { authorization: `Bearer ${guestKey}` } })).status,
    ).toBe(403);
  });
});

describe("GET /dashboard/api/usage/bars", () => {
  it("counts the turns that a filter takes in equal parts of the time, by model, and leaves out empty parts", async () => {
    const bars = async (query: string) =>
      turnBarsSchema.parse(await (await fake.request(`/dashboard/api/usage/bars?${query}`)).json());
    const time = "since=2026-02-24T11:00:00Z&until=2026-02-24T12:00:00Z";
    const { data, width_seconds } = await bars(`${time}&bars=4`);
    expect(width_seconds).toBe(900);
    expect(data.map(({ from, models }) => [from.slice(11, 16), models[0]?.turns, models[0]?.failed])).toEqual([
      ["11:15", 10, 1],
      ["11:30", 15, 1],
      ["11:45", 15, 2],
    ]);
    expect(data[0]?.models[0]).toMatchObject({ key: "claude-opus-4-5", name: "claude-opus-4.5:high", credits: 5 });
    expect((await bars("since=2026-02-24T10:00:00Z&width=3600")).data.map(({ from }) => from)).toEqual([
      "2026-02-24T11:00:00.000Z",
    ]);
    expect((await bars("since=30d&width=1")).width_seconds).toBeGreaterThan(3600); // no more than 200 parts
    const failed = await bars(`${time}&bars=4&status=failed&client=codex`);
    expect(failed.data.map(({ models }) => models[0]?.turns)).toEqual([1, 1, 2]);
    expect((await bars(`${time}&search=nothing-like-it`)).data).toEqual([]);
    const guest = await fake.request(`/dashboard/api/usage/bars`, { headers: { authorization: `Bearer ${guestKey}` } });
    expect(guest.status).toBe(403);
  });
});
