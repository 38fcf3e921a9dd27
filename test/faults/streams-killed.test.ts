import { expect, test } from "vitest";
import type { Simulator } from "../../simulator/index.ts";
import { type RawAttach, rawClient, say, tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { headersOf, newNames } from "../../src/gateway/streams/stream-world.fake.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, model, patience, patienceMs, simulator } from "../support/world.ts";

const lastOf = ({ chunks }: RawAttach) => chunks.at(-1)?.eventId ?? "0";

test("streams over every tier outlive their gateway, killed in the middle, and are paid for once", async () => {
  const { home, ide } = await machine();
  const question = say.request("[[sim: size=900 rate=500 hold-after=450]] at length", 0, { model });
  const doomed = await gateway({ home });
  const lost = await Promise.all(
    tierNames.map(async (tier) => {
      const names = newNames();
      const first = rawClient(doomed).attach(tier, headersOf(names)).send(question);
      await first.until(({ text }) => text.length > 150);
      return { tier, names, first };
    }),
  );
  await doomed.kill();
  const client = rawClient(await gateway({ home }));
  await ide.release();
  for (const { tier, names, first } of lost) {
    expect(await first.ended).toBeDefined();
    const second = client.attach(tier, headersOf(names, lastOf(first), { "x-millrace-intent": "resume" }));
    second.send(question); // as one whose acknowledgement was lost
    expect(await second.ended).toBeUndefined();
    expect(second.acks).toContain(0);
    const whole = client.attach(tier, headersOf(names));
    await whole.ended;
    expect(first.text + second.text).toBe(whole.text);
    expect(whole.text).toHaveLength(900);
  }
  expect((await ide.report()).messages).toHaveLength(tierNames.length);
});

test("an abort without a number, first thing after a crash, ends the answer and reaches the IDE", async () => {
  const { home, ide } = await machine();
  const doomed = await gateway({ home });
  const names = newNames();
  const first = rawClient(doomed)
    .attach("bidi", headersOf(names))
    .send(say.request("[[sim: size=9000 hold-after=400]] at length", 0, { model }));
  await first.until(({ text }) => text.length > 20);
  await doomed.kill();
  const client = rawClient(await gateway({ home })); // which finds its IDE while it takes up what was left
  const aborting = client.attach("bidi", headersOf(names)).send(say.abort()).endInput();
  await aborting.ended;
  expect(aborting.end?.reason).toBe("client");
  const report = await ide.until(({ cascades }) => cascades.every(({ archived }) => archived), patience());
  expect(report.cancels).toEqual(report.cascades.map(({ cascadeId }) => cascadeId));
  expect(report.messages).toHaveLength(1);
});

test("a sealed turn whose gateway and client both die is counted when it ends, and its page says what happened", async () => {
  const { home, ide } = await machine();
  const doomed = await gateway({ home });
  const first = rawClient(doomed)
    .attach("bidi", headersOf(newNames()))
    .send(say.request("[[sim: size=600 rate=400 hold-after=300]] a canary-5f1c", 0, { model }));
  await first.until(({ text }) => text.length > 100);
  await doomed.kill();
  await first.ended;
  const heir = await gateway({ home });
  await ide.release();
  const told = async (path: string) => {
    const response = await fetch(`${heir.url}${path}`, { headers: { authorization: `Bearer ${heir.key}` } });
    return response.text();
  };
  await expect
    .poll(async () => JSON.parse(await told("/v1/usage?by=dialect")).data, { timeout: patienceMs })
    .toMatchObject([{ key: "idempotent", turns: 1, finished: 1, unknown_turns: 0, estimated_turns: 0 }]);
  const id = JSON.parse(await told("/v1/turns")).data[0].id as string;
  const summary = await told(`/dashboard/api/turns/${id}/summary`);
  expect(JSON.parse(summary)).toMatchObject({
    sealed: true,
    status: "ended",
    outcome: "finished",
    characters: 600,
    tokens: { estimated: false },
    ide: "devin",
  });
  const timeline = await told(`/dashboard/api/turns/${id}/timeline`);
  expect(timeline).toMatch(/"type":"started"[^]*"type":"text"[^]*"type":"finished"/);
  expect(summary + timeline).not.toContain("canary");
});

/** A home with a stand-in IDE. */
async function machine(): Promise<{ readonly home: string; readonly ide: Simulator }> {
  const home = temporaryHome();
  return { home, ide: await simulator({ home }) };
}
