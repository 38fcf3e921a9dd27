import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { fakeWindsurf } from "../host/host.fake.ts";
import { answers, setUp, signal } from "./set-up-finder.fake.ts";

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

  it("asks the port that answered last time first", async () => {
    const asked: number[] = [];
    const { host, clock, finder } = setUp(async ({ port }) => {
      asked.push(port);
      return port === 4001 ? { ok: true, protocol: "grpc", tls: false } : { ok: false, reason: "other", why: "other" };
    });
    const windsurf = fakeWindsurf(10, 4000);
    const ports = [4000, 4001].map((port) => ({ address: "127.0.0.1", port, shared: false }));
    host.add({ ...windsurf, listening: ports });
    await finder.find(signal);
    await clock.advance(31_000);
    await finder.find(signal);
    expect(asked).toEqual([4000, 4001, 4001]);
  });

  it("remembers the tokens of sixteen IDEs that are gone", async () => {
    const { host, clock, finder } = setUp();
    const ides = Array.from({ length: 17 }, (_, n) => fakeWindsurf(10 + n, 4000 + n));
    const scanned = async () => {
      await clock.advance(31_000);
      return (await finder.find(signal)).ides.map(({ pid }) => pid).toSorted((a = 0, b = 0) => a - b);
    };
    for (const ide of ides) host.add(ide);
    expect(await scanned()).toHaveLength(17);
    host.processes.clear();
    expect(await scanned()).toEqual([]);
    for (const { row, listening = [] } of ides) host.add({ row, listening }); // their environment is hidden now
    expect(await scanned()).toHaveLength(16);
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
