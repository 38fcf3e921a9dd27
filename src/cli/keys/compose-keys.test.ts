import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import { Secret } from "../../base/secret.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { createKey, revokeKey } from "./change-keys.ts";
import { composeKeys } from "./compose-keys.ts";
import { openKeysFile, readKeys } from "./keys-file.ts";

test("keys are shown with what they may and have used, without anything that belongs to their value", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-keys-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const keysFile = join(folder, "keys.json");
  const clock = new FakeClock(Date.parse("2026-11-22T12:00:00Z"));
  const history = openHistory({ file: ":memory:", keepDays: 400 });
  onTestFinished(() => history.close());
  const limits = { models: ["opus"], apis: [], budget: { most: 5, unit: "turns", period: "day" } } as const;
  const value = await createKey(
    openKeysFile(keysFile),
    "ci",
    { ...limits, models: [...limits.models], apis: [] },
    clock.now(),
  );
  await createKey(openKeysFile(keysFile), "old", { models: [], apis: [] }, clock.now());
  await revokeKey(openKeysFile(keysFile), "old", clock.now());
  const keys = composeKeys({
    key: new Secret("mr-owner-key-0123456789"),
    keysFile,
    clock,
    log: { write: () => {} },
    events: new Emitter(),
    history,
    nameOf: (uid) => uid,
  });
  const shown = keys.shown();
  expect(shown).toMatchObject([
    { name: "ci", state: "works", models: ["opus"], budget: { most: 5, unit: "turns", used: 0 } },
    { name: "old", state: "revoked", budget: undefined },
  ]);
  const [stored] = readKeys(keysFile);
  const text = JSON.stringify(shown);
  for (const secret of [value.reveal(), stored?.hash ?? "", stored?.salt ?? ""]) expect(text).not.toContain(secret);
});
