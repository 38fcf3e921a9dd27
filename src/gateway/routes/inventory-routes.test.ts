import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { fakeModelOf } from "../../models/models.fake.ts";
import { turnFake } from "../../usage/history/history.fake.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { openMeter } from "../../usage/meter.ts";
import { usageDaysSchema } from "../../usage/usage-days-envelope.ts";
import type { IssuedKey } from "../dashboard/inventory.ts";
import { type FakeGateway, fakeGateway, guestKey } from "../gateway.fake.ts";

let history: UsageHistory;
let fake: FakeGateway;
const nowMs = Date.parse("2026-02-24T12:00:00Z");
const ci: IssuedKey = {
  name: "ci",
  caller: "digest-of-ci",
  state: "works",
  createdAtMs: nowMs - 1000,
  expiresAtMs: undefined,
  revokedAtMs: undefined,
  models: ["test-model"],
  turnsPerDay: { most: 50, used: 12, resetsAtMs: nowMs + 3_600_000 },
};

beforeEach(() => {
  const clock = new FakeClock(nowMs);
  history = openHistory({ file: ":memory:" });
  const meter = openMeter({ readPlan: () => Promise.resolve([]), history, clock });
  fake = fakeGateway({ clock, meter, issuedKeys: () => [ci] });
});

afterEach(() => history.close());

const json = async (path: string) => (await fake.request(path)).json();

describe("GET /dashboard/api/keys", () => {
  it("says what each key may and has used, and nothing of which it could be made", async () => {
    const text = await (await fake.request("/dashboard/api/keys")).text();
    expect(JSON.parse(text)).toMatchObject({
      object: "list",
      data: [{ name: "ci", state: "works", running: 0, expires_at: null, turns_per_day: { most: 50, used: 12 } }],
    });
    expect(text).not.toContain("digest-of-ci");
  });

  it("is the owner's alone", async () => {
    const headers = { authorization: `Bearer ${guestKey}` };
    expect((await fake.request("/dashboard/api/keys", { headers })).status).toBe(403);
    expect((await fake.request("/dashboard/api/models", { headers })).status).toBe(403);
  });
});

describe("GET /dashboard/api/models", () => {
  it("has each model with its last use, also those that cannot be used", async () => {
    fake.models.models = [fakeModelOf("used"), fakeModelOf("new", { disabledReason: "Your plan does not have it." })];
    history.addTurn(turnFake({ turnId: "old", endedAtMs: nowMs - 9000, model: "uid-used" }));
    history.addTurn(turnFake({ turnId: "late", endedAtMs: nowMs - 5000, model: "uid-used" }));
    expect(await json("/dashboard/api/models")).toMatchObject({
      data: [
        { name: "used", last_used_at: new Date(nowMs - 5000).toISOString(), context_tokens: 200_000 },
        { name: "new", last_used_at: null, disabled_reason: "Your plan does not have it." },
      ],
    });
  });
});

it("lists models in one order, on the page and in both APIs: what was used last first", async () => {
  fake.models.models = [fakeModelOf("gpt-5.1"), fakeModelOf("gpt-5.2"), fakeModelOf("used")];
  history.addTurn(turnFake({ turnId: "a", endedAtMs: nowMs - 9000, model: "uid-used" }));
  const expected = ["used", "gpt-5.2", "gpt-5.1"];
  const page = (await json("/dashboard/api/models")) as { readonly data: readonly { readonly name: string }[] };
  expect(page.data.map(({ name }) => name)).toEqual(expected);
  const api = (await json("/v1/models")) as { readonly data: readonly { readonly id: string }[] };
  expect(api.data.map(({ id }) => id)).toEqual(expected);
  const tags = (await json("/api/tags")) as { readonly models: readonly { readonly name: string }[] };
  expect(tags.models.map(({ name }) => name)).toEqual(expected);
});

describe("GET /dashboard/api/usage/days", () => {
  it("has every day of the time by its own zone, with its models, most expensive first", async () => {
    // 23:30 in Berlin is still the 23rd there, and 22:30 in UTC.
    history.addTurn(turnFake({ turnId: "a", endedAtMs: Date.parse("2026-02-23T22:30:00Z"), model: "cheap" }));
    history.addTurn(
      turnFake({ turnId: "b", endedAtMs: Date.parse("2026-02-23T23:30:00Z"), model: "dear", creditsHundredths: 500 }),
    );
    history.addTurn(turnFake({ turnId: "c", endedAtMs: Date.parse("2026-02-24T08:00:00Z"), model: "cheap" }));
    const found = usageDaysSchema.parse(
      await json("/dashboard/api/usage/days?since=2026-02-22T23:00:00Z&time_zone=Europe/Berlin"),
    );
    expect(found.data.map(({ day, models }) => [day, models.map(({ key }) => key)])).toEqual([
      ["2026-02-23", ["cheap"]],
      ["2026-02-24", ["dear", "cheap"]],
    ]);
    expect((await json("/dashboard/api/usage/days?since=3d")) as object).toMatchObject({ data: { length: 4 } });
    expect((await fake.request("/dashboard/api/usage/days?time_zone=Mars/Olympus")).status).toBe(400);
  });
});
