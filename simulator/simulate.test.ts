import { describe, expect, it } from "vitest";
import { simulateOptionsOf } from "./simulate.ts";

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
