import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { Secret } from "../../base/secret.ts";
import { composeKeys } from "./compose-keys.ts";
import { createKey, readKeys, revokeKey } from "./key-record.ts";

test("the key of a run that is not back yet is waited for, for five seconds after a start", async () => {
  const clock = new FakeClock();
  const keys = composeKeys({
    key: new Secret("mr-owner-key-0123456789"),
    keysFile: join(tmpdir(), "millrace-no-keys.json"),
    clock,
    log: { write: () => {} },
    nameOf: (uid) => uid,
  });
  const found = () => [keys.find(new Secret("mrr_of-a-run")), keys.find(new Secret("mrk_of-a-program"))];
  expect(found()).toEqual(["awaited", undefined]);
  await clock.advance(4_999);
  expect(found()).toEqual(["awaited", undefined]);
  await clock.advance(1);
  expect(found()).toEqual([undefined, undefined]);
});

test("a lent key works until the last of those that hold it has left", () => {
  const keys = composeKeys({
    key: new Secret("mr-owner-key-0123456789"),
    keysFile: join(tmpdir(), "millrace-no-keys.json"),
    clock: new FakeClock(),
    log: { write: () => {} },
    nameOf: (uid) => uid,
  });
  const key = new Secret("a-key-of-a-run-0123456789");
  const holders = [new AbortController(), new AbortController()];
  for (const { signal } of holders) keys.lend({ client: "codex", key }, signal);
  const held = [keys.find(key), ...holders.map((holder) => (holder.abort(), keys.find(key)))];
  const works = { state: "works", caller: { name: "codex", owner: false } };
  expect(held).toMatchObject([works, works, undefined]);
  keys.lend({ client: "codex", key }, AbortSignal.abort());
  expect(keys.find(key)).toBeUndefined();
});

test("keys are shown with what they may and have used, without anything that belongs to their value", () => {
  const folder = temporaryFolder();
  const keysFile = join(folder, "keys.json");
  const clock = new FakeClock(Date.parse("2026-11-22T12:00:00Z"));
  const value = createKey(keysFile, "ci", { models: ["opus"], turnsPerDay: 5 }, clock.now());
  createKey(keysFile, "old", { models: [] }, clock.now());
  revokeKey(keysFile, "old", clock.now());
  const keys = composeKeys({
    key: new Secret("mr-owner-key-0123456789"),
    keysFile,
    clock,
    log: { write: () => {} },
    nameOf: (uid) => uid,
  });
  const shown = keys.shown();
  expect(shown).toMatchObject([
    {
      name: "ci",
      state: "works",
      models: ["opus"],
      turnsPerDay: { most: 5, used: 0, resetsAtMs: Date.parse("2026-11-23T00:00:00Z") },
    },
    { name: "old", state: "revoked", turnsPerDay: undefined },
  ]);
  const [stored] = readKeys(keysFile);
  const text = JSON.stringify(shown);
  for (const secret of [value.reveal(), stored?.hash ?? "", stored?.salt ?? ""]) expect(text).not.toContain(secret);
});
