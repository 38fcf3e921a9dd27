import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import type { CheckHolder } from "../../language-server/transport/open-socket.ts";
import { FakeHost, fakeWindsurf } from "../host/host.fake.ts";
import type { IdeLifecycle } from "../lifecycle.ts";
import type { Probe } from "../process/probe-port.ts";
import { openIdeFinder } from "./finder.ts";
import { noOverrides } from "./overrides.ts";

const signal = new AbortController().signal;
const answers: Probe = async () => ({ ok: true, protocol: "grpc", tls: false });

function setUp(probe: Probe = answers, clock = new FakeClock()) {
  const host = new FakeHost();
  const opened: { port: number; closed: boolean; apiKey: string; checkHolder: CheckHolder }[] = [];
  const changes: string[] = [];
  const events = new Emitter<IdeLifecycle>();
  events.on("ide_found", ({ pid }) => changes.push(`found ${pid}`));
  events.on("ide_lost", ({ pid }) => changes.push(`lost ${pid}`));
  const finder = openIdeFinder({
    events,
    host,
    clock,
    probe,
    overrides: noOverrides,
    connect: (endpoint, identity, checkHolder) => {
      const entry = { port: endpoint.port, closed: false, apiKey: identity.apiKey.reveal(), checkHolder };
      opened.push(entry);
      return { endpoint, close: () => (entry.closed = true) } as unknown as LanguageServer; // the finder only opens and closes it
    },
  });
  const signIn = (apiKey: string | undefined) =>
    host.states.set("/home/me/.config/Windsurf/User/globalStorage/state.vscdb", {
      windsurfAuthStatus: JSON.stringify({ apiKey }),
    });
  return { host, clock, finder, opened, changes, signIn };
}

describe("the finder", () => {
  it("shares one scan between all callers that ask at once", async () => {
    const { host, finder } = setUp();
    host.add(fakeWindsurf(10, 4000));
    const results = await Promise.all(Array.from({ length: 20 }, () => finder.find(signal)));
    expect(host.scans).toBe(1);
    expect(new Set(results).size).toBe(1);
  });

  it("says once which IDEs came and went, and takes one that restarted for another", async () => {
    const { host, clock, finder, changes } = setUp();
    host.add(fakeWindsurf(10, 4000));
    for (let scan = 0; scan < 2; scan++) {
      await finder.find(signal);
      await clock.advance(31_000);
    }
    expect(changes).toEqual(["found 10"]);
    host.processes.delete(10);
    host.add(fakeWindsurf(11, 4000));
    await finder.find(signal);
    expect(changes).toEqual(["found 10", "lost 10", "found 11"]);
  });

  it("scans at most every 30 s while all works, and never without a request", async () => {
    const { host, clock, finder } = setUp();
    host.add(fakeWindsurf(10, 4000));
    for (let second = 0; second < 60; second++) {
      await finder.find(signal);
      await clock.advance(1_000);
    }
    expect(host.scans).toBe(2);
    await clock.advance(3_600_000);
    expect(host.scans).toBe(2);
    expect(clock.sleeping).toBe(0);
  });

  it("believes an agent that is signed in as long as an IDE, and one that is not for a second", async () => {
    const { host, clock, finder } = setUp();
    host.files.set("/home/me/.local/bin/devin", {});
    expect((await finder.find(signal)).agents).toMatchObject([{ signedIn: "no" }]);
    await clock.advance(2_000);
    host.texts.set("/home/me/.local/share/devin/credentials.toml", 'windsurf_api_key = "cog_abcdef123"');
    const { agents, ides } = await finder.find(signal);
    expect([ides, agents]).toMatchObject([[], [{ signedIn: "own", from: "cli" }]]);
    await clock.advance(29_000);
    await finder.find(signal);
    expect(host.scans).toBe(2);
  });

  it("notices at the next question that an agent's program was taken away", async () => {
    const { host, clock, finder } = setUp();
    host.files.set("/home/me/.local/bin/devin", {});
    host.texts.set("/home/me/.local/share/devin/credentials.toml", 'windsurf_api_key = "cog_abcdef123"');
    expect((await finder.find(signal)).agents).toHaveLength(1);
    await clock.advance(2_000);
    host.files.delete("/home/me/.local/bin/devin");
    expect((await finder.find(signal)).agents).toEqual([]);
  });

  it("takes the port that answers, not the one of the same process that only replies with an error", async () => {
    const { host, finder } = setUp(async ({ port }) =>
      port === 4000
        ? { ok: true, protocol: "connect", tls: false, unsure: true }
        : { ok: true, protocol: "grpc", tls: false },
    );
    const listening = [4000, 4001].map((port) => ({ address: "127.0.0.1", port, shared: false }));
    host.add({ ...fakeWindsurf(10, 4000), listening });
    expect((await finder.find(signal)).ides).toMatchObject([{ endpoint: { port: 4001, protocol: "grpc" } }]);
  });

  it("takes a port that replies with an error where no other one answers", async () => {
    const { host, finder } = setUp(async () => ({ ok: true, protocol: "grpc", tls: false, unsure: true }));
    host.add(fakeWindsurf(10, 4000));
    const { ides, trace } = await finder.find(signal);
    expect(ides).toMatchObject([{ endpoint: { port: 4000 } }]);
    expect(trace.filter(({ stage }) => stage === "probe").map(({ verdict }) => verdict)).toEqual(["note", "kept"]);
  });

  it("looks again after a call failed, but never twice within a second", async () => {
    const { host, clock, finder } = setUp();
    host.add(fakeWindsurf(10, 4000));
    const [ide] = (await finder.find(signal)).ides;
    if (ide === undefined) throw new Error("nothing found");
    await clock.advance(5_000);
    finder.invalidate(ide);
    await finder.find(signal);
    expect(host.scans).toBe(2);
    finder.invalidate(ide);
    let settled = false;
    const third = finder.find(signal).then(() => (settled = true));
    await clock.advance(999);
    expect(settled).toBe(false);
    await clock.advance(1);
    await third;
    expect(host.scans).toBe(3);
  });

  it("has more patience with a port that answered before: a busy machine must not lose its IDE", async () => {
    const asked: (number | undefined)[] = [];
    const { host, clock, finder } = setUp(async ({ port, attemptMs }) => {
      asked.push(attemptMs);
      return (attemptMs ?? 0) > 2_000 || (port === 4000 && asked.length === 1)
        ? { ok: true, protocol: "grpc", tls: false }
        : { ok: false, reason: "timeout", why: "takes connections, but does not answer" };
    });
    host.add(fakeWindsurf(10, 4000));
    const [ide] = (await finder.find(signal)).ides;
    await clock.advance(31_000);
    host.add(fakeWindsurf(11, 4001)); // was never seen to answer
    expect((await finder.find(signal)).ides).toEqual([ide]);
    expect(asked[0]).toBeLessThan(2_000);
  });

  it("ignores a late report about an IDE that it no longer knows", async () => {
    const { host, clock, finder } = setUp();
    host.add(fakeWindsurf(10, 4000));
    const [old] = (await finder.find(signal)).ides;
    host.processes.clear();
    host.add(fakeWindsurf(11, 4001));
    await clock.advance(2_000);
    await finder.find(signal);
    if (old !== undefined) finder.invalidate(old);
    await finder.find(signal);
    expect(host.scans).toBe(2);
  });

  it("notices a restart at the next question, without a failing call", async () => {
    const { host, clock, finder } = setUp();
    host.add(fakeWindsurf(10, 4000));
    await finder.find(signal);
    host.processes.clear();
    host.add(fakeWindsurf(11, 4001));
    await clock.advance(2_000);
    const { ides } = await finder.find(signal);
    expect(ides.map(({ endpoint }) => endpoint.port)).toEqual([4001]);
  });

  it("notices an update at the next question: another process of another build", async () => {
    const { host, clock, finder, opened } = setUp();
    const built = (pid: number, version: string) => {
      const windsurf = fakeWindsurf(pid, 4000);
      const { program, args } = windsurf.row.command;
      return {
        ...windsurf,
        row: { ...windsurf.row, command: { program, args: [...args, "--windsurf_version", version] } },
      };
    };
    host.add(built(10, "2.2.17"));
    const [old] = (await finder.find(signal)).ides;
    if (old === undefined) throw new Error("nothing found");
    await finder.connect(old, signal);
    host.processes.clear();
    host.add(built(11, "2.3.0"));
    await clock.advance(2_000);
    expect((await finder.find(signal)).ides.map(({ build }) => build)).toEqual(["2.3.0"]);
    expect(opened[0]?.closed).toBe(true);
    await expect(finder.connect(old, signal)).rejects.toMatchObject({ code: "ide_not_running" });
  });

  it("notices within 30 s: a second window, a sign-out", async () => {
    const { host, clock, finder, signIn } = setUp();
    signIn("sk-ws-01-first");
    host.add(fakeWindsurf(10, 4000));
    expect((await finder.find(signal)).ides.map(({ signedIn }) => signedIn)).toEqual([true]);
    host.add(fakeWindsurf(12, 4002));
    signIn(undefined);
    await clock.advance(30_000);
    expect((await finder.find(signal)).ides.map(({ pid, signedIn }) => [pid, signedIn])).toEqual([
      [12, false],
      [10, false],
    ]);
  });

  it("looks again after the machine slept, because the steady clock stood still meanwhile", async () => {
    class SleepyClock extends FakeClock {
      slept = 0;
      override now(): number {
        return super.now() + this.slept;
      }
    }
    const clock = new SleepyClock();
    const { host, finder } = setUp(answers, clock);
    host.add(fakeWindsurf(10, 4000));
    await finder.find(signal);
    await clock.advance(2_000);
    clock.slept = 8 * 3_600_000;
    await finder.find(signal);
    expect(host.scans).toBe(2);
  });

  it("looks every second at most while there is no IDE, and finds the one that starts", async () => {
    const { host, clock, finder } = setUp();
    for (let i = 0; i < 50; i++) expect((await finder.find(signal)).ides).toEqual([]);
    expect(host.scans).toBe(1);
    host.add(fakeWindsurf(10, 4000));
    await clock.advance(1_000);
    expect((await finder.find(signal)).ides).toHaveLength(1);
  });

  it("uses the last token that worked when the environment is hidden later", async () => {
    const tokens: string[] = [];
    const { host, clock, finder } = setUp(async ({ csrfToken }) => {
      tokens.push(csrfToken.reveal());
      return { ok: true, protocol: "grpc", tls: false };
    });
    const windsurf = fakeWindsurf(10, 4000);
    host.add(windsurf);
    await finder.find(signal);
    host.add({ row: windsurf.row, listening: windsurf.listening ?? [] });
    await clock.advance(30_000);
    expect((await finder.find(signal)).ides).toHaveLength(1);
    expect(tokens).toEqual(["token-10", "token-10"]);
  });

  it("asks the port that answered last before the others", async () => {
    const asked: number[] = [];
    const { host, clock, finder } = setUp(async ({ port }) => {
      asked.push(port);
      return port === 4002
        ? { ok: true, protocol: "grpc", tls: false }
        : { ok: false, reason: "not_found", why: "404" };
    });
    const listening = [4000, 4001, 4002].map((port) => ({ address: "127.0.0.1", port, shared: false }));
    host.add({ ...fakeWindsurf(10, 4000), listening });
    await finder.find(signal);
    await clock.advance(30_000);
    await finder.find(signal);
    expect(asked).toEqual([4000, 4001, 4002, 4002]);
  });

  it("opens one client for each endpoint and account", async () => {
    const { host, clock, finder, opened, signIn } = setUp();
    signIn("sk-ws-01-first");
    host.add(fakeWindsurf(10, 4000));
    const connect = async () => {
      const [ide] = (await finder.find(signal)).ides;
      if (ide === undefined) throw new Error("nothing found");
      return finder.connect(ide, signal);
    };
    expect(await connect()).toBe(await connect());
    signIn("sk-ws-01-second");
    await clock.advance(30_000);
    await connect();
    expect(opened.map(({ apiKey }) => apiKey)).toEqual(["sk-ws-01-first", "sk-ws-01-second"]);
    finder.close();
    expect(opened.every(({ closed }) => closed)).toBe(true);
  });

  it.each<[string, (host: FakeHost) => void]>([
    ["is gone", (host) => host.processes.clear()],
    [
      "belongs to a process that took over the number",
      (host) => host.add({ ...fakeWindsurf(10, 4000), row: { ...fakeWindsurf(10, 4000).row, startedAtMs: 1 } }),
    ],
    [
      "belongs to another user now",
      (host) => host.add({ ...fakeWindsurf(10, 4000), row: { ...fakeWindsurf(10, 4000).row, owner: "other" } }),
    ],
    ["no longer listens there", (host) => host.add({ ...fakeWindsurf(10, 4000), listening: [] })],
    [
      "shares its port",
      (host) =>
        host.add({ ...fakeWindsurf(10, 4000), listening: [{ address: "127.0.0.1", port: 4000, shared: true }] }),
    ],
  ])("opens no client when the server %s", async (_, change) => {
    const { host, finder, opened } = setUp();
    host.add(fakeWindsurf(10, 4000));
    const [ide] = (await finder.find(signal)).ides;
    if (ide === undefined) throw new Error("nothing found");
    change(host);
    await expect(finder.connect(ide, signal)).rejects.toMatchObject({ code: "ide_not_running" });
    expect(opened).toEqual([]);
  });

  it("lets a client check each new connection, once for all that are made together, and asks nothing for the others", async () => {
    const { host, finder, opened } = setUp();
    host.add(fakeWindsurf(10, 4000));
    const [ide] = (await finder.find(signal)).ides;
    if (ide === undefined) throw new Error("nothing found");
    await finder.connect(ide, signal);
    const before = host.socketQuestions;
    for (let turn = 0; turn < 5; turn++) await finder.connect(ide, signal);
    expect(host.socketQuestions).toBe(before);
    await Promise.all(Array.from({ length: 64 }, async () => opened[0]?.checkHolder()));
    expect(host.socketQuestions).toBe(before + 1);
  });

  it("sends nothing over a connection once another process holds the port, and searches again", async () => {
    const { host, clock, finder, opened } = setUp();
    host.add(fakeWindsurf(10, 4000));
    const [ide] = (await finder.find(signal)).ides;
    if (ide === undefined) throw new Error("nothing found");
    await finder.connect(ide, signal);
    host.add({ ...fakeWindsurf(10, 4000), listening: [] });
    await expect(opened[0]?.checkHolder()).rejects.toMatchObject({ code: "ide_not_running" });
    await clock.advance(1_000);
    await finder.find(signal);
    expect(host.scans).toBe(2);
  });

  it("asks again when it was too busy to hear the answer in time, where asking starts other programs", async () => {
    class BlockedClock extends FakeClock {
      blocked = 0;
      override monotonic(): number {
        return super.monotonic() + this.blocked;
      }
    }
    const clock = new BlockedClock();
    const { host, finder } = setUp(answers, clock);
    host.add(fakeWindsurf(10, 4000));
    const [ide] = (await finder.find(signal)).ides;
    if (ide === undefined) throw new Error("nothing found");
    host.beforeAnswer = () => {
      host.beforeAnswer = undefined;
      clock.blocked += 5_000;
      return { ok: false, why: "lsof took longer than 3 s" };
    };
    await finder.connect(ide, signal);
    expect(clock.sleeping).toBe(0);
  });

  it("keeps the client of a server that a slow scan missed, and closes it when the process is gone", async () => {
    let silent = false;
    const { host, clock, finder, opened } = setUp(async () =>
      silent ? { ok: false, reason: "timeout", why: "silent" } : { ok: true, protocol: "grpc", tls: false },
    );
    host.add(fakeWindsurf(10, 4000));
    const [ide] = (await finder.find(signal)).ides;
    if (ide === undefined) throw new Error("nothing found");
    await finder.connect(ide, signal);
    silent = true;
    await clock.advance(30_000);
    expect((await finder.find(signal)).ides).toEqual([]);
    expect(opened[0]?.closed).toBe(false);
    host.processes.clear();
    await clock.advance(1_000);
    await finder.find(signal);
    expect(opened[0]?.closed).toBe(true);
  });

  it("lets a caller go without ending the scan for the others", async () => {
    let release = () => {};
    const { host, finder } = setUp(async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return { ok: true, protocol: "grpc", tls: false };
    });
    host.add(fakeWindsurf(10, 4000));
    const impatient = new AbortController();
    const left = finder.find(impatient.signal);
    const stays = finder.find(signal);
    impatient.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await new Promise((resolve) => setImmediate(resolve)); // lets the scan reach its probe
    release();
    expect((await stays).ides).toHaveLength(1);
  });

  it("explains WSL and containers when nothing is found", async () => {
    const { host, finder } = setUp();
    host.around.push("wsl", "container");
    const { trace } = await finder.find(signal);
    expect(trace.map(({ why }) => why).join("\n")).toMatch(/WSL[\s\S]*MILLRACE_IDE_ENDPOINT[\s\S]*container/);
  });
});
