import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { openSessions } from "../../gateway/dashboard/dashboard-sessions.ts";
import { linkFileIn, sessionFile } from "./gateway-file.ts";

const headersOf = (session: string) => new Headers({ "x-millrace-session": session });
const open = (clock: FakeClock, file: string) =>
  openSessions(clock, new AbortController().signal, () => "key", { store: sessionFile(file) });

function signIn(sessions: ReturnType<typeof openSessions>): string {
  const session = sessions.redeem(sessions.newCode());
  if (session === undefined) throw new Error("a fresh code is good");
  return session.reveal();
}

describe("the dashboard's sessions in a file", () => {
  it("outlive the gateway until eight days after their last use, as digests that no secret can be made of", async () => {
    const file = join(temporaryFolder(), "own", "sessions.json");
    const clock = new FakeClock();
    const secret = signIn(open(clock, file));
    expect(modeOf(file, 0o600)).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toContain(secret);
    const { digest } = sessionFile(file).load()[0] ?? { digest: "" };
    await clock.advance(3_600_000);
    const restarted = open(clock, file);
    expect(restarted.isSignedIn(headersOf(secret))).toBe(true);
    expect(restarted.isSignedIn(headersOf(digest))).toBe(false);
    await clock.advance(8 * 86_400_000 - 1);
    expect(open(clock, file).isSignedIn(headersOf(secret))).toBe(true);
    await clock.advance(8 * 86_400_000 + 1);
    expect(open(clock, file).isSignedIn(headersOf(secret))).toBe(false);
  });

  it("show texts after a restart too, where their owner agreed to it", () => {
    const file = join(temporaryFolder(), "sessions.json");
    const clock = new FakeClock();
    const sessions = open(clock, file);
    const [one, other] = [signIn(sessions), signIn(sessions)];
    sessions.setTexts(headersOf(one), true);
    const restarted = open(clock, file);
    expect([one, other].map((secret) => restarted.showsTexts(headersOf(secret)))).toEqual([true, false]);
  });

  it("end by signing out, also for the next gateway", () => {
    const file = join(temporaryFolder(), "sessions.json");
    const clock = new FakeClock();
    const sessions = open(clock, file);
    const [one, other] = [signIn(sessions), signIn(sessions)];
    sessions.end(headersOf(one));
    const restarted = open(clock, file);
    expect([one, other].map((secret) => restarted.isSignedIn(headersOf(secret)))).toEqual([false, true]);
  });

  it("are none where the file is not ours, or cannot be written", () => {
    const folder = temporaryFolder();
    const file = join(folder, "sessions.json");
    writeFileSync(file, '[{"digest":"short"}]');
    expect(sessionFile(file).load()).toEqual([]);
    const sessions = open(new FakeClock(), join(file, "below-a-file"));
    expect(sessions.isSignedIn(headersOf(signIn(sessions)))).toBe(true);
  });

  it("remove the file that leads to a link when the link is used, when it has expired, and when a gateway starts", async () => {
    const folder = temporaryFolder();
    const clock = new FakeClock();
    const exists = () => existsSync(linkFileIn(folder));
    const lead = () => writeFileSync(linkFileIn(folder), "a page");
    lead();
    const sessions = open(clock, join(folder, "sessions.json"));
    expect(exists()).toBe(false);
    const code = sessions.newCode();
    lead();
    expect([sessions.redeem("made-up"), exists()]).toEqual([undefined, true]);
    sessions.redeem(code);
    expect(exists()).toBe(false);
    sessions.newCode();
    lead();
    await clock.advance(60_000);
    sessions.newCode();
    await clock.advance(60_002);
    expect(exists()).toBe(true); // the second link still works
    await clock.advance(60_000);
    expect(exists()).toBe(false);
  });
});
