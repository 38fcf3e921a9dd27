import { describe, expect, it } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { discover } from "../ide/discover.ts";
import { FakeHost, type FakeProcess, fakeWindsurf } from "../ide/host.fake.ts";
import { noOverrides } from "../ide/overrides.ts";
import type { Probe } from "../ide/probe-port.ts";
import type { LanguageServer } from "../language-server/language-server.ts";
import { choosePrompted, promptServers } from "./servers.ts";

const answers: Probe = async () => ({ ok: true, protocol: "grpc", tls: false });

async function found(processes: readonly FakeProcess[], probe = answers, apiKey?: string) {
  const host = new FakeHost();
  for (const process of processes) host.add(process);
  const state = { windsurfAuthStatus: JSON.stringify({ apiKey }) };
  host.states.set("/home/me/.config/Windsurf/User/globalStorage/state.vscdb", state);
  const { ides, trace } = await discover(
    { host, probe, overrides: noOverrides, lastGood: new Map() },
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
    ["is not there", [], answers, "ide_not_running", "No IDE with a language server was found", /Start the IDE/],
    ["is not signed in", [windsurf], answers, "not_signed_in", "nobody is signed in", /./],
    ["is Antigravity alone", [antigravity], answers, "ide_not_running", "Only Antigravity runs", /Start Windsurf/],
    [
      "runs and cannot be used, whatever else runs",
      [{ ...windsurf, listening: [] }, antigravity],
      answers,
      "ide_not_running",
      "The windsurf that runs (pid 10) cannot be used: listens on no port",
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
      close: () => {},
    });
    return { servers, server, looked: () => looked };
  }

  it("is looked for anew when the one that was found earlier cannot be used any more", async () => {
    const { servers, server, looked } = await finder(1);
    expect(await servers.find(never)).toBe(server);
    expect(looked()).toBe(2);
  });

  it("is looked for anew once, and then it is said", async () => {
    const { servers, looked } = await finder(2);
    await expect(servers.find(never)).rejects.toMatchObject({ code: "ide_not_running" });
    expect(looked()).toBe(2);
  });

  it("is waited for where it may be starting, and found once it is there", async () => {
    const clock = new FakeClock();
    const [none, started] = [await found([]), await found([windsurf], answers, "sk-ws-01-abc")];
    const server = {} as LanguageServer; // only handed on
    const servers = promptServers(
      {
        find: async () => (clock.monotonic() < 1_000 ? none : started),
        connect: async () => server,
        invalidate: () => {},
        close: () => {},
      },
      { clock, patienceMs: 4_000 },
    );
    const finding = servers.find(never);
    await clock.advance(2_000);
    expect(await finding).toBe(server);
  });

  it("is given up after the time it was waited for, with one clear error", async () => {
    const clock = new FakeClock();
    const none = await found([]);
    const idle = { connect: async () => ({}) as LanguageServer, invalidate: () => {}, close: () => {} };
    let looks = 0;
    const find = async () => {
      looks++;
      return none;
    };
    const finding = promptServers({ find, ...idle }, { clock, patienceMs: 4_000 }).find(never);
    finding.catch(() => undefined); // looked at below
    await clock.advance(4_100);
    await expect(finding).rejects.toMatchObject({ code: "ide_not_running" });
    expect(looks).toBeGreaterThan(4);
    await clock.advance(10_000);
    const after = looks;
    await clock.advance(10_000);
    expect(looks).toBe(after);
  });
});
