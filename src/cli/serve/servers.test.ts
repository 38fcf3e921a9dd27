import { describe, expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import { fakeAgent } from "../../ide/agent.fake.ts";
import { chooseAgent } from "../../ide/apps/choose-agent.ts";
import { discover } from "../../ide/discover/discover.ts";
import { noOverrides } from "../../ide/discover/overrides.ts";
import { FakeHost, type FakeProcess, fakeWindsurf } from "../../ide/host/host.fake.ts";
import type { AgentProgram, DiscoveryResult, InstalledApp } from "../../ide/ide.ts";
import type { Probe } from "../../ide/process/probe-port.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import { promptServers } from "./prompt-servers.ts";
import { choosePrompted, spellChosenIde, withoutServer } from "./servers.ts";

const answers: Probe = async () => ({ ok: true, protocol: "grpc", tls: false });

async function found(processes: readonly FakeProcess[], probe = answers, apiKey?: string, overrides = {}) {
  const host = new FakeHost();
  for (const process of processes) host.add(process);
  const state = { windsurfAuthStatus: JSON.stringify({ apiKey }) };
  host.states.set("/home/me/.config/Windsurf/User/globalStorage/state.vscdb", state);
  const { ides, trace } = await discover(
    { host, probe, overrides: { ...noOverrides, ...overrides }, lastGood: new Map() },
    new AbortController().signal,
  );
  return { ides, agents: [], trace: trace.entries, atMs: 0 };
}

const windsurf = fakeWindsurf(10, 4000);
const antigravity: FakeProcess = {
  ...fakeWindsurf(11, 4001),
  row: { ...fakeWindsurf(11, 4001).row, command: { program: "agy", args: [] } },
};

describe("the IDE that prompts go to", () => {
  it("is the newest that is signed in, and never Antigravity", async () => {
    const ides = await found([windsurf, fakeWindsurf(12, 4002), antigravity], answers, "sk-ws-01-abc");
    expect(choosePrompted(ides).pid).toBe(12);
  });

  it.each<[string, readonly FakeProcess[], Probe, string, string, RegExp]>([
    [
      "is not there",
      [],
      answers,
      "ide_not_running",
      "Devin Desktop (formerly Windsurf) does not run here",
      /Start Devin Desktop.*devin auth login/,
    ],
    ["is not signed in", [windsurf], answers, "not_signed_in", "no account is signed in", /./],
    [
      "is Antigravity alone",
      [antigravity],
      answers,
      "ide_not_running",
      "Only Antigravity is running",
      /Start Devin Desktop/,
    ],
    [
      "runs and cannot be used, beside any other process",
      [{ ...windsurf, listening: [] }, antigravity],
      answers,
      "ide_not_running",
      "Devin Desktop (formerly Windsurf) runs (pid 10), but cannot be used: listens on no port",
      /reload the IDE's window.*`millrace doctor`/,
    ],
  ])("%s: the error says so, with what was looked at", async (_, processes, probe, code, message, hint) => {
    const result = await found(processes, probe);
    let thrown: unknown;
    try {
      choosePrompted(result);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      code,
      message: expect.stringContaining(message),
      hint: expect.stringMatching(hint),
      details: { looked_at: expect.arrayContaining([expect.objectContaining({ stage: "candidates" })]) },
    });
  });
});

describe("a stand-in", () => {
  const standIn = (pid: number): FakeProcess => {
    const process = fakeWindsurf(pid, 4000 + pid);
    return { ...process, environment: { ...process.environment, MILLRACE_STAND_IN: "1" } };
  };

  it("is not chosen while a real IDE runs, even where that one is not signed in", async () => {
    const both = await found([fakeWindsurf(10, 4010), standIn(12)], answers, "sk-ws-01-abc");
    expect(choosePrompted(both).pid).toBe(10);
    expect(spellChosenIde(both)).toMatch(/\(pid 10\): the first of 2.*1 stand-in left out/);
    const ides = both.ides.map((ide) => ({ ...ide, signedIn: ide.standIn === true }));
    expect(() => choosePrompted({ ...both, ides })).toThrow(/no account is signed in/);
    expect(spellChosenIde({ ...both, ides })).toBeUndefined();
  });

  it("is chosen where it is the only one, or the one that the user names by its pid", async () => {
    const alone = await found([standIn(12)], answers, "sk-ws-01-abc");
    expect(choosePrompted(alone).pid).toBe(12);
    expect(spellChosenIde(alone)).toMatch(/a stand-in \(pid 12\): the only one that runs/);
    const named = await found([fakeWindsurf(10, 4010), standIn(12)], answers, "sk-ws-01-abc", { pid: 12 });
    expect(spellChosenIde(named, { pid: 12 })).toMatch(/a stand-in \(pid 12\): the one that --pid names/);
    expect(named.ides.map(({ pid }) => pid)).toEqual([12]);
  });
});

describe("the agent that prompts go to", () => {
  const app = {
    variant: "windsurf",
    version: "3.10.48",
    appRoot: "/a",
    product: "Devin Desktop 3.10 (formerly Windsurf)",
  };
  const nothing: DiscoveryResult = { ides: [], agents: [], apps: [], trace: [], atMs: 0 };

  it("is the first that an account is signed in to", () => {
    const agents = [fakeAgent({ signedIn: "no" }), fakeAgent({ signedIn: "editor", from: "app" }), fakeAgent({})];
    expect(chooseAgent({ agents })).toMatchObject({
      agent: { from: "app" },
      why: "the app's database holds a key for it; preferred to 2 others",
    });
    expect(chooseAgent({ agents: [fakeAgent({})] })?.why).toBe("signed in by its own credentials");
    expect(chooseAgent({ agents: [fakeAgent({ signedIn: "no" })] })).toBeUndefined();
  });

  it.each<[string, Partial<DiscoveryResult>, string, RegExp, RegExp]>([
    [
      "the CLI alone, signed out",
      { agents: [fakeAgent({ signedIn: "no" })] },
      "not_signed_in",
      /Devin CLI is installed/,
      /^Run `devin auth login`/,
    ],
    [
      "an app that does not run",
      { apps: [{ ...app, running: false } as InstalledApp] },
      "ide_not_running",
      /3\.10 .*does not run/,
      /^Start it, sign in/,
    ],
    [
      "an app that does not run, with an agent program that no account is signed in to",
      { apps: [{ ...app, running: false } as InstalledApp], agents: [fakeAgent({ signedIn: "no" })] },
      "not_signed_in",
      /3\.10 .*does not run, and no account is signed in/,
      /^Start Devin Desktop, sign in/,
    ],
    [
      "a system that shows no processes, also where an app is installed",
      {
        apps: [{ ...app, running: false } as InstalledApp],
        trace: [
          {
            stage: "candidates",
            subject: "process list",
            rule: "processes",
            verdict: "rejected",
            why: "/proc shows no processes",
          },
        ],
      },
      "ide_not_running",
      /^Millrace cannot see which programs run here.*: \/proc shows no processes\.$/,
      /devin auth login.*MILLRACE_IDE_ENDPOINT/,
    ],
    [
      "an app without a server",
      { apps: [{ ...app, running: true } as InstalledApp] },
      "not_signed_in",
      /3\.10 .*runs, but/,
      /^Start Devin Desktop/,
    ],
    ["an agent that can be asked", { agents: [fakeAgent({})] }, "ide_not_running", /Only the agent of/, /`acp`/],
    [
      "nothing",
      {},
      "ide_not_running",
      /^Devin Desktop \(formerly Windsurf\) does not run here, and no `devin` program was found\.$/,
      /devin auth login/,
    ],
  ])("or the error says what to do with %s", (_, part, code, message, hint) => {
    const error = withoutServer({ ...nothing, ...part });
    expect([error.code, error.message, error.hint]).toEqual([
      code,
      expect.stringMatching(message),
      expect.stringMatching(hint),
    ]);
  });
});

describe("the server that prompts go to", () => {
  const never = new AbortController().signal;

  /** A finder whose IDEs refuse to be used as often as said, because they were found too long ago. */
  async function finder(refusals: number) {
    const result = await found([windsurf], answers, "sk-ws-01-abc");
    const server = {} as LanguageServer; // only handed on
    let looked = 0;
    const servers = promptServers({
      find: async () => {
        looked++;
        return result;
      },
      connect: async () => {
        if (refusals-- > 0) throw new MillraceError("ide_not_running", "It is another process now.");
        return server;
      },
      invalidate: () => {},
    });
    return { servers, server, looked: () => looked };
  }

  it("is looked for anew when the one that was found earlier cannot be used any more", async () => {
    const { servers, server, looked } = await finder(1);
    expect(await servers.find(never)).toBe(server);
    expect(looked()).toBe(2);
  });

  it("is searched for once more, and then reported as missing", async () => {
    const { servers, looked } = await finder(2);
    await expect(servers.find(never)).rejects.toMatchObject({ code: "ide_not_running" });
    expect(looked()).toBe(2);
  });

  it("is not another account's while the IDE in use is signed out", async () => {
    const { ides, ...rest } = await found([windsurf, fakeWindsurf(12, 4002)], answers, "sk-ws-01-abc");
    const [one, other] = ides.map((ide, nth) => ({
      ...ide,
      codeiumFolder: `/home/${nth}`,
      stateFile: `/home/${nth}/state`,
    }));
    if (one === undefined || other === undefined) throw new Error("two were found");
    const stranger = { ...other, identity: { ...other.identity, apiKey: new Secret("sk-ws-01-other") } };
    let result: DiscoveryResult = { ...rest, ides: [one, stranger] };
    const servers = promptServers({
      find: () => Promise.resolve(result),
      connect: (ide) => Promise.resolve({ of: ide.stateFile } as unknown as LanguageServer),
      invalidate: () => {},
    });
    const used = await servers.find(never);
    servers.ideOf(used);
    const isOne = (ide: typeof one) => servers.ideOf(used)?.stateFile === ide.stateFile;
    const first = isOne(one) ? one : stranger;
    const second = first === one ? stranger : one;
    result = { ...rest, ides: [{ ...first, signedIn: false }, second] };
    await expect(servers.find(never)).rejects.toMatchObject({
      code: "not_signed_in",
      message: expect.stringMatching(/which prompts went to, is signed out now\. .* with another account/),
      hint: expect.stringMatching(/^Sign in to .*`millrace restart --ide devin`/),
    });
    result = {
      ...rest,
      ides: [
        { ...first, signedIn: false },
        { ...second, identity: first.identity },
      ],
    };
    expect(await servers.find(never)).toMatchObject({ of: second.stateFile });
  });

  const app = fakeAgent({ from: "app", signedIn: "editor", product: "Devin Desktop 3.10" });
  const next = fakeAgent({ ...app, variant: "windsurf-next", product: "Devin Next 3.11" });
  const cli = fakeAgent({});

  /** Which agent is asked once another one got the prompts and only these are left. */
  async function agentAfter(used: AgentProgram, left: readonly AgentProgram[]) {
    let result: DiscoveryResult = { ides: [], agents: [used, next], trace: [], atMs: 0 };
    const find = () => Promise.resolve(result);
    const servers = promptServers({ find, connect: () => Promise.reject(new Error("no IDE")), invalidate: () => {} });
    servers.noteAgent(used);
    expect((await servers.findAgent(never)).program).toBe(used);
    result = { ...result, agents: left };
    return (await servers.findAgent(never)).program;
  }

  it.each([
    { name: "is gone", used: app, left: [next], code: "ide_not_running" },
    {
      name: "has an app that is signed out",
      used: app,
      left: [{ ...app, signedIn: "no" as const }, next],
      code: "not_signed_in",
    },
    { name: "lost its own sign-in", used: cli, left: [{ ...cli, signedIn: "editor" as const }], code: "not_signed_in" },
  ])("an agent that $name is not exchanged without the user's word", async ({ used, left, code }) => {
    const message = expect.stringMatching(/whose agent prompts went to/) as string;
    await expect(agentAfter(used, left)).rejects.toMatchObject({ code, message });
  });

  it.each([
    { name: "another program with its credentials", used: cli, left: { ...app, signedIn: "own" as const } },
    { name: "one that the user has signed in to", used: app, left: cli },
  ])("an agent is followed by $name", async ({ used, left }) => {
    expect(await agentAfter(used, [left])).toBe(left);
  });

  it("is not exchanged for the agent of another product once the IDE in use is away", async () => {
    const { ides, trace } = await found([windsurf], answers, "sk-ws-01-abc");
    let result: DiscoveryResult = { ides, agents: [next], trace, atMs: 0 };
    const server = {} as LanguageServer; // only handed on
    const find = () => Promise.resolve(result);
    const servers = promptServers({ find, connect: () => Promise.resolve(server), invalidate: () => {} });
    servers.ideOf(await servers.find(never));
    expect((await servers.findAgent(never)).program).toBeUndefined(); // a model that it alone offers may go there
    result = { ...result, ides: [] };
    await expect(servers.findAgent(never)).rejects.toMatchObject({ code: "ide_not_running" });
    result = { ...result, agents: [next, app] };
    expect((await servers.findAgent(never)).program).toBe(app);
  });
});
