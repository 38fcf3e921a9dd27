import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { type KeptSession, openSessions } from "./dashboard-sessions.ts";

const never = new AbortController().signal;

test("sixteen pages are signed in at most, in the store too: the one that signed in first goes", () => {
  let kept: readonly KeptSession[] = [];
  const store = {
    load: () => kept,
    save: (sessions: readonly KeptSession[]) => void (kept = sessions),
    removeLinkFile() {},
  };
  const open = () => openSessions(new FakeClock(), never, () => "key", { store });
  const sessions = open();
  const pages = Array.from({ length: 17 }, () => {
    const session = sessions.redeem(sessions.newCode());
    return new Headers({ "x-millrace-session": session?.reveal() ?? "" });
  });
  for (const each of [sessions, open()])
    expect(pages.map((page) => each.isSignedIn(page))).toEqual([false, ...pages.slice(1).map(() => true)]);
  expect(kept).toHaveLength(16);
});

test("a link that nobody used is forgotten, and so is a page that was not used for longer than a week's holiday", async () => {
  const clock = new FakeClock();
  const sessions = openSessions(clock, never, () => "key");
  const code = sessions.newCode();
  const page = new Headers({ "x-millrace-session": sessions.redeem(sessions.newCode())?.reveal() ?? "" });
  await clock.advance(120_001);
  expect(sessions.redeem(code)).toBeUndefined();
  expect(sessions.isSignedIn(page)).toBe(true);
  await clock.advance(9 * 86_400_000);
  expect(sessions.isSignedIn(page)).toBe(false);
});

test("a link works after a restart of the gateway, once", async () => {
  let kept: readonly KeptSession[] = [];
  let hasFile = true;
  const store = {
    load: () => kept,
    save: (all: readonly KeptSession[]) => void (kept = all),
    removeLinkFile: () => void (hasFile = false),
  };
  const clock = new FakeClock();
  const open = () => openSessions(clock, never, () => "key", { store });
  const [code, late] = [open().newCode(), open().newCode()];
  hasFile = true;
  expect(JSON.stringify(kept)).not.toContain(code);
  const restarted = open();
  expect(hasFile).toBe(true);
  expect(restarted.redeem(code)).toBeDefined();
  expect(open().redeem(code)).toBeUndefined();
  expect(open().isSignedIn(new Headers({ "x-millrace-session": late }))).toBe(false);
  await clock.advance(120_001);
  expect(open().redeem(late)).toBeUndefined();
});
