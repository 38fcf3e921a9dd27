import { beforeEach, describe, expect, it } from "vitest";
import { type FakeGateway, fakeGateway, guestKey } from "../gateway.fake.ts";

let fake: FakeGateway;
const question = { model: "test-model", messages: [{ role: "user", content: "What is a millrace?" }] };

beforeEach(() => {
  fake = fakeGateway();
  fake.turns.script = () => [
    { type: "text", delta: "A channel." },
    { type: "finished", reason: { unified: "stop", raw: undefined }, text: "A channel." },
  ];
});

async function asked(): Promise<string> {
  const response = await fake.request("/v1/chat/completions", { json: question });
  return response.headers.get("x-millrace-turn") ?? "";
}

describe("asking again", () => {
  it("sends the same request as a new turn, once for each consent, however often that arrives", async () => {
    const first = await asked();
    const again = async (once: string) => {
      const response = await fake.request(`/dashboard/api/turns/${first}/ask-again`, { json: { consent: true, once } });
      return ((await response.json()) as { id: string }).id;
    };
    const ids = [await again("consent-1"), await again("consent-1"), await again("consent-2")];
    expect(ids[1]).toBe(ids[0]);
    expect(new Set([first, ...ids]).size).toBe(3);
    expect(fake.turns.started).toHaveLength(3);
    const [one, two] = fake.turns.started;
    expect(two).toMatchObject({ request: one?.request, modelUid: one?.modelUid, client: "millrace-dashboard" });
  });

  it("sends nothing without consent, for a running turn, or for another caller", async () => {
    const first = await asked();
    const path = `/dashboard/api/turns/${first}/ask-again`;
    for (const json of [{}, { consent: true }, { consent: false, once: "consent-1" }])
      expect((await fake.request(path, { json })).status).toBe(400);
    const guest = { authorization: `Bearer ${guestKey}` };
    expect((await fake.request(path, { json: { consent: true, once: "consent-1" }, headers: guest })).status).toBe(403);
    fake.turns.script = () => [{ type: "text", delta: "A chan" }];
    const stop = new AbortController();
    void fake
      .request("/v1/chat/completions", {
        json: { ...question, messages: [{ role: "user", content: "other" }] },
        signal: stop.signal,
      })
      .catch(() => undefined); // it ends with the test
    await expect.poll(() => fake.turns.started.length).toBe(2);
    const running = await fake.request(`/dashboard/api/turns/${fake.turns.turnId(1)}/ask-again`, {
      json: { consent: true, once: "consent-1" },
    });
    expect([running.status, await running.text()]).toEqual([409, expect.stringContaining("still runs")]);
    stop.abort();
    expect(fake.turns.started).toHaveLength(2);
  });
});
