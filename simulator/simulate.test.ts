import { describe, expect, it } from "vitest";
import { placesOf, simulateOptionsOf, startSimulator } from "./simulate.ts";

describe("the options of millrace simulate", () => {
  it("come from the config file and the flags, which win", () => {
    const options = simulateOptionsOf(
      { profile: "windsurf-next", home: undefined },
      `{ // played in tests
        "profile": "windsurf-2", "turn": { "rate": 10, "thinking": 20 }, "faults": [{ "rpc": "*", "delayMs": 1 }], }`,
    );
    expect(options).toMatchObject({
      profile: "windsurf-next",
      turn: { rate: 10, thinking: 20 },
      faults: [{ rpc: "*", delayMs: 1 }],
    });
  });

  it.each([
    [{ profile: "vim" }, undefined, "profile"],
    [{}, "{\n nope", "line 2"],
    [{}, "[]", "one JSON object"],
    [{}, '{"turns": {}}', "turns"],
  ])("name what is wrong in %j and %j", (flags, config, named) => {
    expect(() => simulateOptionsOf(flags, config)).toThrow(named);
  });
});

it("says where everything is, without a secret", async () => {
  await using simulator = await startSimulator();
  expect(placesOf(simulator)).toMatchObject({ pid: simulator.pid, port: simulator.port, profile: "windsurf-2" });
  expect(JSON.stringify(placesOf(simulator))).not.toMatch(
    new RegExp(`${simulator.csrfToken.reveal()}|${simulator.apiKey.reveal()}`),
  );
});
