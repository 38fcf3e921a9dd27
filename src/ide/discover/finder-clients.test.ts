import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { type FakeHost, fakeWindsurf } from "../host/host.fake.ts";
import { answers, setUp, signal } from "./set-up-finder.fake.ts";

describe("the finder's servers and clients", () => {
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
});
