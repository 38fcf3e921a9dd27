import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import type { NewTurn } from "../../log/store.ts";
import { parseExpiry } from "../commands/keys.ts";
import { keyAdmission, openIssuedKeys } from "./compose-keys.ts";
import { changeKeys, createKey, type KeyLimits, readKeys } from "./key-record.ts";

const noon = Date.parse("2026-11-22T12:00:00Z");

/** The key `ci` with these limits, and gateways over its file. */
function limited(limits: Partial<KeyLimits>) {
  const folder = temporaryFolder();
  const file = join(folder, "keys.json");
  const clock = new FakeClock(noon);
  createKey(file, "ci", { models: [], ...limits }, noon);
  const gateway = (counts = (file: string) => file) => {
    const keys = openIssuedKeys({ file, clock, onProblem: () => {} });
    const nameOf = (uid: string) => (uid === "uid-sonnet" ? "claude-sonnet-4.6" : uid);
    const admission = keyAdmission({ keys, owner: "the owner", file: counts(file), clock, nameOf });
    const caller = [...keys.all().keys()][0];
    const turn = (part: Partial<NewTurn> = {}) =>
      ({ caller, modelUid: "uid-sonnet", request: { model: "sonnet" }, ...part }) as NewTurn; // what is looked at
    return { start: async (part?: Partial<NewTurn>) => admission.admit(turn(part)) };
  };
  return { file, clock, gateway, ...gateway() };
}

const outcomes = async (starts: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(starts)).map(({ status }) => status).sort();

test("a key is held to its models, by name, UID or the name that was asked for", async () => {
  for (const model of ["claude-sonnet-4.6", "uid-sonnet", "sonnet", "Claude-Sonnet-4.6", "claude-sonnet"])
    await limited({ models: [model] }).start({ request: { model: "x" } as never });
  const { start } = limited({ models: ["opus"] });
  await expect(start()).rejects.toMatchObject({
    code: "model_not_allowed",
    message: expect.stringContaining("claude-sonnet-4.6"),
    hint: "It may use: opus.",
  });
  await start({ modelUid: "opus" });
  await start({ caller: "the owner" });
});

test("a key with three turns a day starts exactly three of twelve at once, whichever process counts them", async () => {
  const { gateway } = limited({ turnsPerDay: 3 });
  const gateways = [gateway(), gateway()];
  const starts = Array.from({ length: 12 }, (_, i) => gateways[i % 2]?.start() ?? Promise.reject());
  expect(await outcomes(starts)).toEqual([...Array(3).fill("fulfilled"), ...Array(9).fill("rejected")]);
  await expect(gateway().start()).rejects.toMatchObject({ code: "quota_exhausted" }); // a gateway that was started later
});

test("a refusal says that the turns of the day are used, and when the day of UTC ends", async () => {
  const { start, clock } = limited({ turnsPerDay: 1 });
  await start();
  const resetsAtMs = Date.parse("2026-11-23T00:00:00Z");
  await expect(start()).rejects.toMatchObject({
    code: "quota_exhausted",
    message: "The key ci has used its 1 turns for today.",
    hint: expect.stringContaining("2026-11-23T00:00:00.000Z"),
    resetsAtMs,
    retryAfterMs: resetsAtMs - noon,
  });
  await clock.advance(resetsAtMs - noon - 1);
  await expect(start()).rejects.toMatchObject({ code: "quota_exhausted" });
  await clock.advance(1);
  await start();
  await expect(start()).rejects.toMatchObject({ code: "quota_exhausted" });
});

test("a turn that did not start is taken back, once", async () => {
  const { start, file } = limited({ turnsPerDay: 1 });
  const withdraw = await start();
  withdraw();
  await expect.poll(() => readKeys(file)[0]?.started?.turns).toBe(0);
  await start();
  await expect(start()).rejects.toMatchObject({ code: "quota_exhausted" });
});

test("a turn that is taken back on the next day leaves that day's count alone", async () => {
  const { start, file, clock } = limited({ turnsPerDay: 2 });
  const withdraw = await start();
  await clock.advance(86_400_000);
  await start();
  withdraw();
  expect(readKeys(file)[0]?.started).toEqual({ day: "2026-11-23", turns: 1 });
});

test("a key that is no longer in the file starts no turn", async () => {
  const { start, file } = limited({});
  changeKeys(file, () => []);
  await expect(start()).rejects.toMatchObject({ code: "unauthenticated" });
});

test("while the count cannot be written, a key with a limit has to wait, and one without is served", async () => {
  const [counted, free] = [limited({ turnsPerDay: 5 }), limited({})];
  const unwritable = (file: string) => join(file, "below-a-file");
  await expect(counted.gateway(unwritable).start()).rejects.toMatchObject({ code: "unavailable" });
  await free.gateway(unwritable).start();
  await counted.start();
});

test("a count that somebody damaged lets no turn start", async () => {
  const { start, file } = limited({ turnsPerDay: 5 });
  await start();
  writeFileSync(file, readFileSync(file, "utf8").replace('"turns": 1', '"turns": -7'), { mode: 0o600 });
  await expect(start()).rejects.toMatchObject({ code: "unauthenticated" });
});

test("an expiry is read as people write it", () => {
  expect(parseExpiry("30d", noon)).toBe(noon + 30 * 86_400_000);
  expect(parseExpiry("2026-11-22", noon)).toBe(Date.UTC(2026, 10, 23));
  for (const wrong of ["2026-11-21", "2026-02-31", "soon", "0", "99999999d"])
    expect(() => parseExpiry(wrong, noon)).toThrow(/is not/);
});
