import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { limitsSchema, usageSchema } from "../../usage/envelope.ts";
import { turnFake } from "../../usage/history/history.fake.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { openMeter } from "../../usage/meter.ts";
import type { PlanAnswer } from "../../usage/plan-answer.ts";
import { windsurfFixture } from "../../usage/snapshot.fake.ts";
import { type FakeGateway, fakeGateway, guestKey } from "../gateway.fake.ts";

let clock: FakeClock;
let history: UsageHistory;
let fake: FakeGateway;
let reads: number;

beforeEach(() => {
  clock = new FakeClock(Date.parse("2026-02-24T12:00:00Z"));
  history = openHistory({ file: ":memory:" });
  reads = 0;
  const answer: PlanAnswer = {
    type: "windsurf",
    ide: "windsurf",
    build: "2.3.15",
    userStatus: windsurfFixture("quota"),
  };
  const readPlan = () => {
    reads++;
    return Promise.resolve([answer]);
  };
  fake = fakeGateway({ clock, meter: openMeter({ readPlan, history, clock }) });
});

afterEach(() => history.close());

const json = async (path: string) => (await fake.request(path)).json();

describe("GET /v1/limits", () => {
  it("answers every IDE's limits in the documented form", async () => {
    const limits = limitsSchema.parse(await json("/v1/limits"));
    expect(limits.data.map(({ ide, stale }) => [ide, stale])).toEqual([["devin", false]]);
    expect(limits.errors).toEqual([]);
  });

  it("answers at once with wait=0, also when nothing was read yet", async () => {
    expect(limitsSchema.parse(await json("/v1/limits?wait=0")).data).toEqual([]);
    expect(reads).toBe(1);
  });

  it("answers how limits were used over time, for a chart", async () => {
    await json("/v1/limits");
    await clock.advance(5 * 60_000);
    await json("/v1/limits");
    expect(await json("/dashboard/api/limits/history?since=1d")).toMatchObject({
      object: "limits.history",
      data: [
        {
          ide: "devin",
          window: "daily",
          label: "Daily quota",
          points: [
            [1_771_934_400, 0.38],
            [1_771_934_700, 0.38],
          ],
        },
        { ide: "devin", window: "weekly" },
      ],
    });
  });
});

describe("GET /v1/usage", () => {
  it("answers spending by a dimension since a time", async () => {
    history.addTurn(turnFake({ turnId: "turn_1", endedAtMs: clock.now() - 1000 }));
    const usage = usageSchema.parse(await json("/v1/usage?since=7d&by=client&time_zone=Europe/Berlin"));
    expect(usage).toMatchObject({ by: "client", time_zone: "Europe/Berlin", data: [{ key: "opencode", turns: 1 }] });
    expect(usageSchema.parse(await json("/v1/usage")).by).toBe("model");
  });

  it.each([
    ["/v1/usage?by=colour", "model, client, project, key, dialect, day"],
    ["/v1/usage?since=tomorrow", "7d"],
    ["/v1/usage?by=day&time_zone=Mars", "Europe/Berlin"],
    ["/dashboard/api/limits/history?since=2026-02-30", "7d"],
  ])("refuses %s with 400 and says what would be right", async (path, words) => {
    const response = await fake.request(path);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(words);
  });

  it("is the owner's, as are the plan and the metrics: other keys get 403", async () => {
    const headers = { authorization: `Bearer ${guestKey}` };
    for (const path of ["/v1/usage", "/v1/limits", "/dashboard/api/limits/history", "/metrics"]) {
      const refused = await fake.request(path, { headers });
      expect([path, refused.status]).toEqual([path, 403]);
      expect(await refused.text()).toContain("Only the owner of the gateway may see this.");
    }
    const health = await (await fake.request("/health", { headers })).json();
    expect(health).toEqual({ status: "ok", name: "millrace" });
  });
});
