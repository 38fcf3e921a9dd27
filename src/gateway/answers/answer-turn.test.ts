import { describe, expect, test } from "vitest";
import { MillraceError, unsentPrompt } from "../../base/errors.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { fakeModelOf } from "../../models/models.fake.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { chat } from "../routes/turn-route.fake.ts";
import { started, text } from "../turn-events.fake.ts";
import { withSpentKey } from "./answer-turn.ts";

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

describe("a failure under a key", () => {
  const told = async (failure: TurnEventBody, ...before: TurnEventBody[]) => {
    const fake = fakeGateway();
    fake.turns.script = () => [...before, failure];
    const ask = () => fake.request("/v1/chat/completions", { json: chat, headers: { "idempotency-key": "k" } });
    return ((await (await ask()).json()) as { error: { hint: string } }).error.hint;
  };
  const failed = (more = {}): TurnEventBody => ({ type: "failed", error: { ...crash, ...more } });
  const unsent = failed({ details: { reason: unsentPrompt } });

  test("before anything was sent spends no key", async () => {
    expect(await told(failed())).toBe(crash.hint);
    expect(await told(unsent, started)).toBe(crash.hint);
  });

  test("spends it after an answer, also where a later prompt was not sent", async () => {
    expect(await told(failed(), started)).toContain("spent");
    expect(await told(unsent, started, text("x"))).toContain("spent");
  });
});
