import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { openSessions } from "../../gateway/dashboard/dashboard-sessions.ts";
import { sessionFile } from "./session-file.ts";

const headersOf = (cookie: string) =>
  new Headers({ cookie: `millrace_session=${cookie}`, "sec-fetch-site": "same-origin" });

function signIn(sessions: ReturnType<typeof openSessions>): string {
  const session = sessions.redeem(sessions.newCode());
  if (session === undefined) throw new Error("a fresh code is good");
  return session.reveal();
}

describe("the dashboard's sessions in a file", () => {
  it("outlive the gateway for their twelve hours, as digests that no cookie can be made of", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "millrace-sessions-")), "own", "sessions.json");
    const clock = new FakeClock();
    const cookie = signIn(openSessions(clock, sessionFile(file)));
    expect(modeOf(file, 0o600)).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toContain(cookie);
    const { digest } = sessionFile(file).load()[0] ?? { digest: "" };
    await clock.advance(3_600_000);
    const restarted = openSessions(clock, sessionFile(file));
    expect(restarted.isSignedIn(headersOf(cookie))).toBe(true);
    expect(restarted.isSignedIn(headersOf(digest))).toBe(false);
    await clock.advance(11 * 3_600_000 + 1);
    expect(openSessions(clock, sessionFile(file)).isSignedIn(headersOf(cookie))).toBe(false);
  });

  it("end by signing out, also for the next gateway", () => {
    const file = join(mkdtempSync(join(tmpdir(), "millrace-sessions-")), "sessions.json");
    const clock = new FakeClock();
    const sessions = openSessions(clock, sessionFile(file));
    const [one, other] = [signIn(sessions), signIn(sessions)];
    sessions.end(headersOf(one));
    const restarted = openSessions(clock, sessionFile(file));
    expect([one, other].map((cookie) => restarted.isSignedIn(headersOf(cookie)))).toEqual([false, true]);
  });

  it("are none where the file is not ours, or cannot be written", () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-sessions-"));
    const file = join(folder, "sessions.json");
    writeFileSync(file, '[{"digest":"short"}]');
    expect(sessionFile(file).load()).toEqual([]);
    const unwritable = sessionFile(join(file, "below-a-file"));
    const sessions = openSessions(new FakeClock(), unwritable);
    expect(sessions.isSignedIn(headersOf(signIn(sessions)))).toBe(true);
  });
});
