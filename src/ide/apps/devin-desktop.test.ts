import { afterEach, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { systemClock } from "../../base/clock.ts";
import { createWireIds } from "../../language-server/metadata.ts";
import { openLanguageServer } from "../../language-server/open-language-server.ts";
import { probePort } from "../../language-server/probe/probe.ts";
import { openIdeFinder } from "../discover/finder.ts";
import { noOverrides } from "../discover/overrides.ts";
import { openHost } from "../host/open-host.ts";
import type { IdeFinder } from "../ide.ts";
import { chooseAgent } from "./choose-agent.ts";

const never = new AbortController().signal;

/** Discovery, its real prober and client, against the stand-in of Devin Desktop: a process, sockets and databases. */
describe.runIf(process.platform === "linux")("a machine with Devin Desktop", () => {
  const running: Simulator[] = [];
  const finders: IdeFinder[] = [];
  afterEach(async () => {
    for (const finder of finders.splice(0)) finder.close();
    for (const simulator of running.splice(0)) await simulator.stop();
  });

  async function machine(options: Parameters<typeof startSimulator>[0]) {
    const simulator = await startSimulator(options);
    running.push(simulator);
    const ids = createWireIds(systemClock);
    const { platform } = process;
    const finder = openIdeFinder({
      host: openHost({ platform, uid: process.getuid?.(), home: "/nonexistent", environment: {}, clock: systemClock }),
      clock: systemClock,
      probe: probePort,
      connect: (endpoint, identity) => openLanguageServer(endpoint, identity, { clock: systemClock, ids }),
      overrides: { ...noOverrides, onlyHome: simulator.home },
    });
    finders.push(finder);
    return { simulator, finder };
  }

  it.each([
    ["installed afresh", false],
    ["upgraded from Windsurf, with a key in the old folder", true],
  ])("that was %s is signed in with today's key, and its server tells the plan", async (_, upgraded) => {
    const { simulator, finder } = await machine({ profile: "devin-3", upgraded });
    const { ides, apps } = await finder.find(never);
    const product = "Devin Desktop 3.10 (formerly Windsurf)";
    expect(ides).toMatchObject([{ pid: simulator.pid, product, signedIn: true }]);
    expect(apps).toMatchObject([{ product, running: true }]);
    const [ide] = ides;
    if (ide === undefined) throw new Error("nothing found");
    expect(ide.identity.apiKey.equals(simulator.apiKey)).toBe(true);
    const server = await finder.connect(ide, never);
    expect((await server.getUserStatus(never)).planStatus).toBeDefined();
  });

  it.each([["retired"], ["removed"]] as const)("whose Cascade is %s says so by name", async (cascade) => {
    const { finder } = await machine({ profile: "devin-3", cascade });
    const [ide] = (await finder.find(never)).ides;
    if (ide === undefined) throw new Error("nothing found");
    const server = await finder.connect(ide, never);
    await expect(server.startCascade(never)).rejects.toMatchObject({
      code: "backend_retired",
      hint: expect.stringMatching(/--backend.*acp/),
    });
  });

  it("offers its agent, and what the app saved of the plan, and shows no secret", async () => {
    const { simulator, finder } = await machine({ profile: "devin-3" });
    const result = await finder.find(never);
    const chosen = chooseAgent(result);
    expect(chosen?.agent).toMatchObject({ from: "app", home: simulator.home });
    expect((await chosen?.agent.readApiKey(never))?.equals(simulator.apiKey)).toBe(true);
    const plans = await result.readSavedPlans?.(never);
    expect(plans).toMatchObject([
      { variant: "windsurf", build: "3.10.48", accountRows: [expect.any(String)], lastStartMs: expect.any(Number) },
    ]);
    const shown = JSON.stringify(result);
    for (const secret of [simulator.apiKey, simulator.csrfToken]) expect(shown).not.toContain(secret.reveal());
  });

  it("is distinguished from its Next version, which has another folder", async () => {
    const { finder } = await machine({ profile: "devin-next" });
    const { ides, agents } = await finder.find(never);
    const product = "Devin Desktop Next 3.11 (formerly Windsurf Next)";
    expect(ides).toMatchObject([{ variant: "windsurf-next", product, signedIn: true }]);
    expect(agents[0]).toMatchObject({ variant: "windsurf-next", from: "app" });
  });

  it("with the CLI alone has an agent and no server", async () => {
    const { simulator, finder } = await machine({ profile: "devin-cli" });
    const { ides, apps, agents } = await finder.find(never);
    expect([ides, apps]).toEqual([[], []]);
    expect(agents).toMatchObject([{ from: "cli", signedIn: "own", home: simulator.home }]);
    expect((await agents[0]?.readApiKey(never))?.equals(simulator.apiKey)).toBe(true);
  });
});
