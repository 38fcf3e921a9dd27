import { expect, test } from "vitest";
import { type KeyRecord, spellTurnLimit, turnLimit } from "./key-record.ts";

const key: KeyRecord = {
  id: "1",
  name: "ada",
  createdAtMs: 0,
  salt: "s",
  hash: "0".repeat(64),
  models: [],
};

test("an owner who is alone has no limit, and a key that works for others makes it four", () => {
  expect(turnLimit(undefined, [], 10)).toEqual({ most: undefined, why: "alone" });
  expect(turnLimit(undefined, [key], 10)).toEqual({ most: 4, why: "shared" });
});

test("the client that the owner set up is no other person", () => {
  expect(turnLimit(undefined, [{ ...key, client: true }], 10)).toEqual({ most: undefined, why: "alone" });
});

test("the limit goes when the last key is revoked or expires", () => {
  const expiring = { ...key, expiresAtMs: 20 };
  expect(turnLimit(undefined, [{ ...key, revokedAtMs: 5 }, expiring], 10).most).toBe(4);
  expect(turnLimit(undefined, [{ ...key, revokedAtMs: 5 }, expiring], 20).most).toBeUndefined();
});

test("a setting wins, also one for any number", () => {
  expect(turnLimit(9, [key], 10)).toEqual({ most: 9, why: "set" });
  expect(turnLimit(0, [key], 10)).toEqual({ most: undefined, why: "set" });
  expect(turnLimit(2, [], 10)).toEqual({ most: 2, why: "set" });
});

test("it is told in words", () => {
  expect(spellTurnLimit({ most: 4, why: "shared" })).toBe(
    "4 at once in one IDE, because keys for others work; `millrace config set serve.max_turns` changes it",
  );
  expect(spellTurnLimit({ most: null, why: "alone" })).toBe("no limit, until a key for others works");
  expect(spellTurnLimit({ most: null, why: "set" })).toBe("no limit, as you set it");
});
