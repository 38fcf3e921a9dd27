import { expect, test } from "vitest";
import { MillraceError, unsentPrompt } from "../../base/errors.ts";
import { eventIdOf } from "../../log/event.ts";
import { fakeModelOf } from "../../models/models.fake.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { tellSpentKey, withSpentKey } from "./answer-turn.ts";

const crash = new MillraceError("upstream_failed", "The IDE's server stopped.", { hint: "Look." }).toRecord();
const keyed = { isGiven: true, isRepeat: false };

test.each([
  ["/v1/chat/completions", { messages: [{ role: "user", content: "Hi" }] }],
  ["/v1/responses", { input: "Hi" }],
  ["/v1/messages", { max_tokens: 9, messages: [{ role: "user", content: "Hi" }] }],
])("a body of %s without a model is told the default and some others", async (path, json) => {
  const fake = fakeGateway();
  const hintOf = async () => (await fake.request(path, { json })).text();
  fake.models.models = [
    fakeModelOf("MODEL_PRIVATE_2"),
    fakeModelOf("dear", { disabledReason: "not in the plan" }),
    fakeModelOf("swift"),
    fakeModelOf("deep"),
    fakeModelOf("usual", { isDefault: true }),
    fakeModelOf("fourth"),
  ];
  expect(await hintOf()).toContain(
    "It is missing. It must be of type string. Name one, such as `usual` (the default), `swift`, `deep`. `GET /v1/models` lists all.",
  );
  fake.models.fails = new MillraceError("ide_not_running", "None runs.");
  expect(await hintOf()).toContain("`GET /v1/models` lists the account's models.");
});

test("a failure under a key says that the key is spent, and what to do", () => {
  expect(withSpentKey(crash, keyed).hint).toBe(
    "Look. This Idempotency-Key is spent: it only gives this failure again. Send the request with a new key, or without a key.",
  );
  const quota = new MillraceError("quota_exhausted", "No more.", { hint: "Wait." }).toRecord();
  expect(withSpentKey(quota, keyed).hint).toMatch(/with a new key, or without a key after 60 s\.$/);
});

test("a failure without a key stays unchanged", () => {
  expect(withSpentKey(crash, { isGiven: false, isRepeat: false })).toBe(crash);
});

test("a repeat under the key learns that the failure is final", () => {
  expect(withSpentKey(crash, keyed).final).toBeUndefined();
  expect(withSpentKey(crash, { isGiven: true, isRepeat: true }).final).toBe(true);
});

test("a failure under a key says that the key is spent", () => {
  const at = { eventId: eventIdOf(2), atMs: 1 };
  expect(tellSpentKey({ type: "failed", error: crash, ...at }, keyed)).toMatchObject({
    ...at,
    type: "failed",
    error: { hint: expect.stringContaining("spent") },
  });
});

test("a failure before anything was sent spends no key, and stays unchanged", () => {
  const event = { type: "failed" as const, error: crash, eventId: eventIdOf(1), atMs: 1 };
  expect(tellSpentKey(event, { isGiven: true, isRepeat: true })).toBe(event);
  const unsent = { ...crash, details: { reason: unsentPrompt } };
  const later = { type: "failed" as const, error: unsent, eventId: eventIdOf(2), atMs: 1 };
  expect(tellSpentKey(later, { isGiven: true, isRepeat: true })).toBe(later);
});

test("a prompt that was not sent after an answer spends the key all the same: the first prompt had that answer", () => {
  const unsent = { ...crash, details: { reason: unsentPrompt } };
  const event = { type: "failed" as const, error: unsent, eventId: eventIdOf(3), atMs: 1 };
  expect(tellSpentKey(event, keyed)).toMatchObject({ error: { hint: expect.stringContaining("spent") } });
});
