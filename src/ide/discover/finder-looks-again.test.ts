import { describe, expect, it } from "vitest";
import { fakeWindsurf } from "../host/host.fake.ts";
import { setUp, signal } from "./set-up-finder.fake.ts";

describe("the finder, after a change of the machine", () => {
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

  it("asks a silent port once more with patience, and one that answered before with patience at once", async () => {
    const asked: { port: number; attemptMs: number | undefined }[] = [];
    const { host, clock, finder } = setUp(async ({ port, attemptMs }) => {
      asked.push({ port, attemptMs });
      return (attemptMs ?? 0) > 3_000
        ? { ok: true, protocol: "grpc", tls: false }
        : { ok: false, reason: "timeout", why: "takes connections, but does not answer" };
    });
    host.add(fakeWindsurf(10, 4000));
    const { ides } = await finder.find(signal);
    expect(ides.map(({ endpoint }) => endpoint.port)).toEqual([4000]);
    await clock.advance(31_000);
    expect((await finder.find(signal)).ides).toEqual(ides);
    expect(asked).toEqual([
      { port: 4000, attemptMs: 1_000 },
      { port: 4000, attemptMs: 5_000 },
      { port: 4000, attemptMs: 5_000 },
    ]);
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
});
