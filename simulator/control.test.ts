import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerOf, finalSteps, send } from "./rpc-client.fake.ts";
import { runSimulate, type SimulateReady, simulateOptionsOf } from "./simulate.ts";

describe("millrace simulate", () => {
  const stop = new AbortController();
  let running: Promise<void>;
  let ready: SimulateReady;

  beforeAll(async () => {
    ready = await new Promise<SimulateReady>((resolve, reject) => {
      running = runSimulate({ turn: { rate: "instant" } }, 0, resolve, stop.signal);
      running.catch(reject);
    });
  });
  afterAll(async () => {
    stop.abort();
    await running;
  });

  async function control(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(new URL(path, ready.description.controlUrl), {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  it("says where everything is, without a secret", async () => {
    const { body } = await control("GET", "/");
    expect(body).toMatchObject({ pid: ready.simulator.pid, port: ready.simulator.port, profile: "windsurf-2" });
    expect(JSON.stringify(body)).not.toContain(ready.simulator.csrfToken.reveal());
    expect(JSON.stringify(body)).not.toContain(ready.simulator.apiKey.reveal());
  });

  it("lets another process set turns and faults, read the report and restart", async () => {
    expect((await control("PUT", "/turn", { rate: "instant", error: "quota" })).status).toBe(200);
    const cascadeId = await send(ready.simulator, "hi");
    expect((await finalSteps(ready.simulator, cascadeId)).at(-1)?.step.case).toBe("errorMessage");
    expect((await control("GET", "/report")).body).toMatchObject({ startedCascades: 1 });
    expect((await control("PUT", "/faults", [{ rpc: "GetStatus", hang: true }])).status).toBe(200);
    expect((await control("PUT", "/faults", [])).status).toBe(200);
    expect((await control("PUT", "/turn", { rate: "instant", holdAfter: 2 })).status).toBe(200);
    const held = await send(ready.simulator, "echo: 0123");
    expect((await control("GET", "/report")).body).toMatchObject({ cascades: [{}, { turnsEnded: 0 }] });
    expect((await control("POST", "/release")).status).toBe(200);
    expect(answerOf(await finalSteps(ready.simulator, held))).toBe("0123");
    const { pid } = ready.simulator;
    expect((await control("POST", "/restart", { crash: true })).body["pid"]).not.toBe(pid);
  });

  it("refuses what it does not understand, and browsers", async () => {
    expect(await control("PUT", "/turn", { rat: 1 })).toMatchObject({ status: 400 });
    expect(await control("GET", "/nowhere")).toMatchObject({ status: 404 });
    expect(await control("GET", "/", undefined, { origin: "http://evil.example" })).toMatchObject({ status: 403 });
  });
});

describe("the options of millrace simulate", () => {
  it("come from the config file and the flags, which win", () => {
    const options = simulateOptionsOf(
      { profile: "windsurf-next", rate: "instant", firstMs: 5, home: undefined },
      `{ // played in tests
        "profile": "windsurf-2", "turn": { "rate": 10, "thinking": 20 }, "faults": [{ "rpc": "*", "delayMs": 1 }], }`,
    );
    expect(options).toMatchObject({
      profile: "windsurf-next",
      turn: { rate: "instant", firstMs: 5, thinking: 20 },
      faults: [{ rpc: "*", delayMs: 1 }],
    });
  });

  it.each([
    [{ rate: "fast" }, undefined, "--rate"],
    [{ profile: "vim" }, undefined, "profile"],
    [{}, "{\n nope", "line 2"],
    [{}, "[]", "one JSON object"],
    [{}, '{"turns": {}}', "turns"],
  ])("name what is wrong in %j and %j", (flags, config, named) => {
    expect(() => simulateOptionsOf(flags, config)).toThrow(named);
  });
});
