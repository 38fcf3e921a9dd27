import { describe, expect, it } from "vitest";
import { discover } from "../discover/discover.ts";
import { type IdeOverrides, noOverrides } from "../discover/overrides.ts";
import { FakeHost, type FakeProcess, fakeWindsurf } from "../host/host.fake.ts";
import { nearestMiss } from "./near-miss.ts";
import type { Probe, ProbeVerdict } from "./probe-port.ts";

async function missOf(processes: readonly FakeProcess[], probe: Probe, overrides: Partial<IdeOverrides> = {}) {
  const host = new FakeHost();
  for (const process of processes) host.add(process);
  const { trace } = await discover(
    { host, probe, overrides: { ...noOverrides, ...overrides }, lastGood: new Map() },
    new AbortController().signal,
  );
  return nearestMiss(trace.entries);
}

const says =
  (verdict: ProbeVerdict): Probe =>
  async () =>
    verdict;
const answers = says({ ok: true, protocol: "grpc", tls: false });
const silent = says({ ok: false, reason: "timeout", why: "takes connections, but does not answer" });
const windsurf = fakeWindsurf(10, 4000);
const { row } = windsurf;

describe("a server that was found, but cannot be used", () => {
  it.each<[string, FakeProcess, Probe, Partial<IdeOverrides>, string, RegExp]>([
    [
      "hides its token",
      { row, listening: windsurf.listening ?? [] },
      answers,
      {},
      "no CSRF token: neither",
      /^Restart the IDE.*MILLRACE_IDE_TOKEN_FILE/,
    ],
    [
      "refuses its token",
      windsurf,
      says({ ok: false, reason: "token_refused", why: "refuses it" }),
      {},
      "port 4000: refuses it",
      /^Restart the IDE/,
    ],
    [
      "stays silent",
      windsurf,
      silent,
      {},
      "port 4000: takes connections, but answers slowly: not within 10 s",
      /reload the IDE's window/,
    ],
    ["listens nowhere", { ...windsurf, listening: [] }, answers, {}, "listens on no port", /try again in a moment/],
    [
      "shares its port",
      { ...windsurf, listening: [{ address: "127.0.0.1", port: 4000, shared: true }] },
      answers,
      {},
      "port 4000: another process listens on the same port too",
      /^End the other program/,
    ],
    [
      "listens for everybody",
      { ...windsurf, listening: [{ address: "0.0.0.0", port: 4000, shared: false }] },
      answers,
      {},
      "port 4000: listens on 0.0.0.0",
      /listen on 127\.0\.0\.1/,
    ],
    [
      "is another user's",
      { ...windsurf, row: { ...row, owner: "other" } },
      answers,
      {},
      "belongs to another user",
      /as the user who runs the IDE/,
    ],
    [
      "is not the one asked for",
      windsurf,
      answers,
      { variant: "windsurf-next" },
      "only devin-next was asked for",
      /MILLRACE_IDE_VARIANT/,
    ],
    ["is not the process asked for", windsurf, answers, { pid: 9 }, "only pid 9 was asked for", /without `--pid`/],
    [
      "holds another port",
      windsurf,
      answers,
      { endpoint: { host: "127.0.0.1", port: 9 } },
      "does not hold 127.0.0.1:9",
      /MILLRACE_IDE_ENDPOINT/,
    ],
  ])("%s: says so, and what to do", async (_, process, probe, overrides, why, todo) => {
    const miss = await missOf([process], probe, overrides);
    expect(miss).toMatchObject({ subject: "pid 10", variant: "windsurf", why: expect.stringContaining(why) });
    expect(miss?.todo).toMatch(todo);
  });

  it("is the newest of several, and none that was found", async () => {
    const [older, newer] = [fakeWindsurf(10, 4000), fakeWindsurf(11, 4001)];
    expect((await missOf([older, newer], silent))?.subject).toBe("pid 11");
    const oneAnswers: Probe = async ({ port }) =>
      port === 4001
        ? { ok: true, protocol: "grpc", tls: false }
        : { ok: false, reason: "closed", why: "nothing listens there" };
    expect((await missOf([older, newer], oneAnswers))?.subject).toBe("pid 10");
    expect(await missOf([newer], oneAnswers)).toBeUndefined();
  });

  it("is the process that was asked for rather than a newer one", async () => {
    const both = [fakeWindsurf(10, 4000), fakeWindsurf(11, 4001)];
    expect((await missOf(both, silent, { pid: 10 }))?.subject).toBe("pid 10");
  });

  it("is in the home that was asked for, if there is one", async () => {
    const mine = { ...fakeWindsurf(10, 4000), environment: { HOME: "/home/stand-in" } };
    const miss = await missOf([mine, fakeWindsurf(11, 4001)], answers, { onlyHome: "/home/stand-in" });
    expect(miss).toMatchObject({ subject: "pid 10", why: expect.stringContaining("no CSRF token") });
    expect(await missOf([fakeWindsurf(11, 4001)], answers, { onlyHome: "/home/stand-in" })).toBeUndefined();
  });

  it("is not one that has ended a moment ago", async () => {
    expect(await missOf([{ ...windsurf, row: { ...row, zombie: true } }], answers)).toBeUndefined();
  });

  it("is not what only mentions one", async () => {
    const editor = { ...row, command: { program: "/usr/bin/vim", args: ["language_server_linux_x64.go"] } };
    expect(await missOf([{ row: editor }], answers)).toBeUndefined();
    expect(await missOf([], answers)).toBeUndefined();
    const antigravity = { ...row, command: { program: row.command.program, args: ["--app_data_dir", "antigravity"] } };
    expect(await missOf([{ row: antigravity }], silent)).toBeUndefined();
  });
});
