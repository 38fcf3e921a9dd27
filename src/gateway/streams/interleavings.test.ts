import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { openMemoryLog } from "../../log/memory-log.fake.ts";
import { everySchedule } from "../../log/schedule.fake.ts";
import type { LogStore } from "../../log/store.ts";
import { type Doings, playAttachers, type Scenario } from "./attachers.fake.ts";
import { say } from "./raw-client.fake.ts";
import { sealedFileLog } from "./stream-world.fake.ts";

const tools = { tools: ["look"] };
const ask = say.request("Hello", 0, tools);
const call: readonly TurnEventBody[] = [
  { type: "tool_call", callId: "c1", name: "look", argumentsDelta: "{}", done: true },
  { type: "finished", reason: { unified: "tool_calls", raw: undefined }, text: "" },
];
const answer: readonly TurnEventBody[] = [
  { type: "text", delta: "Hi" },
  { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Hi" },
];

/** The actions of one stream's clients, and the model's answers. */
const scenarios: Readonly<Record<string, Pick<Scenario, "answers" | "session"> & { attachers: readonly Doings[] }>> = {
  "the same request": { attachers: [[ask], [ask]], answers: [answer] },
  "the same request, and a model that says nothing": { attachers: [[ask], [ask]], answers: [] },
  "two requests under one number": { attachers: [[ask], [say.request("Else", 0, tools)]], answers: [answer] },
  "a request each, and leaves": {
    attachers: [
      [ask, "leaves"],
      [ask, "leaves"],
    ],
    answers: [answer],
  },
  "a conversation's request each, and leaves": {
    attachers: [
      [ask, "leaves"],
      [ask, "leaves"],
    ],
    answers: [answer],
    session: "conversation-1",
  },
  "a request and a tool's result": {
    attachers: [
      [ask, say.result("c1", "seen", 1)],
      [ask, say.result("c1", "seen", 1)],
    ],
    answers: [call, answer],
  },
  "two results of one call": {
    attachers: [
      [ask, say.result("c1", "seen", 1)],
      [ask, say.result("c1", "nothing", 1)],
    ],
    answers: [call, answer],
  },
  "an abort against a request": { attachers: [[ask, say.abort(1)], [ask]], answers: [answer] },
  "an abort without a number against a request": { attachers: [[ask, say.abort()], [ask]], answers: [answer] },
  "an abort of a client that leaves at once, against a request": {
    attachers: [[ask], [say.abort(), "leaves"]],
    answers: [],
  },
  "an abort with a number, of a client that leaves at once": {
    attachers: [
      [ask, "leaves"],
      [ask, say.abort(1), "leaves"],
    ],
    answers: [],
  },
  "an abort each": {
    attachers: [
      [ask, say.abort(1)],
      [ask, say.abort(1)],
    ],
    answers: [answer],
  },
  "a close against an abort": {
    attachers: [
      [ask, say.close(1)],
      [ask, say.abort(1)],
    ],
    answers: [call],
  },
  "three requests": { attachers: [[ask], [ask], [say.request("Else", 0, tools)]], answers: [answer] },
};

/** How many steps one run delays, out of turn; more delays make a long suite (docs/reliability.md). */
const delays = Number(process.env["MILLRACE_DELAYS"] ?? 1);
const kinds = [1, 2].flatMap((gateways) =>
  (["before", "after"] as const).map((hold) => ({ gateways: gateways as Scenario["gateways"], hold })),
);

async function explore(scenario: Scenario, store: LogStore | undefined) {
  let superseded = 0;
  const schedules = await everySchedule(delays, async (schedule) => {
    superseded += await playAttachers(scenario, store ?? openMemoryLog({ clock: new FakeClock() }), schedule);
  });
  return { schedules, superseded };
}

describe("clients of one stream, whose steps and whose store's answers come in any order (G8)", () => {
  test.each(Object.entries(scenarios))(
    "keep their promises with %s",
    { timeout: 3_600_000 },
    async (name, scenario) => {
      let schedules = 0;
      let superseded = 0;
      for (const kind of kinds) {
        const explored = await explore({ ...scenario, ...kind }, undefined);
        schedules += explored.schedules;
        superseded += explored.superseded;
      }
      if (delays > 1) process.stdout.write(`${name}: ${schedules} schedules, ${superseded} superseded\n`);
      expect(schedules).toBeGreaterThan(40);
      expect(superseded > 0).toBe(scenario.attachers.some((doings) => !doings.includes("leaves")));
    },
  );

  test("keep them over a file too", { timeout: 3_600_000 }, async () => {
    const clock = new FakeClock();
    const { store } = await sealedFileLog(clock);
    for (const name of ["the same request", "an abort each"]) {
      const scenario = scenarios[name];
      if (scenario === undefined) throw new Error(`no scenario ${name}`);
      const { superseded } = await explore({ ...scenario, gateways: 2, hold: "before" }, store);
      expect(superseded).toBeGreaterThan(0);
    }
  });
});
