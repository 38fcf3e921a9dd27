import { expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import type { ModelUid } from "../../base/ids.ts";
import { fakeGateway, guestKey } from "../gateway.fake.ts";
import { anonymous } from "./signed-in.fake.ts";

const body = { model: "test-model", messages: [{ role: "user", content: "a secret text" }] };
const agent = (name: string) => ({ "user-agent": `${name}/1.2.3 (linux)` });

async function healthOf(fake: ReturnType<typeof fakeGateway>) {
  return (await (await fake.request("/health")).json()) as Record<string, unknown>;
}

it("a request that became no turn is counted by its client and error: for the owner, in the metrics and in the log", async () => {
  const fake = fakeGateway();
  const resetsAtMs = fake.clock.now() + 3_600_000;
  fake.turns.refuses = new MillraceError("quota_exhausted", "The quota is used up.", { resetsAtMs, repeated: true });
  for (const path of ["/v1/chat/completions", "/v1/chat/completions"])
    await fake.request(path, { json: body, headers: agent("opencode") });
  fake.turns.refuses = undefined;
  await fake.request("/v1/messages", { json: { model: "test-model" }, headers: agent("claude-cli") });
  await fake.request("/v1/responses", { json: body, headers: { ...anonymous, ...agent("codex") } });
  await fake.request("/v1/models/none", { headers: agent("opencode") }); // asks for no answer
  const { refused } = (await healthOf(fake)) as { refused: { requests: number; by: object[] } };
  expect(refused.requests).toBe(4);
  expect(refused.by).toMatchObject([
    { client: "codex", code: "unauthenticated", requests: 1, until: null },
    { client: "claude-cli", code: "invalid_request", requests: 1 },
    { client: "opencode", code: "quota_exhausted", requests: 2, until: new Date(resetsAtMs).toISOString() },
  ]);
  const metrics = await (await fake.request("/metrics")).text();
  expect(metrics).toContain('millrace_requests_refused_total{client="opencode",code="quota_exhausted"} 2');
  expect(metrics).toContain('millrace_requests_refused_total{client="codex",code="unauthenticated"} 1');
  expect(fake.logged.filter(({ fields }) => fields["code"] === "quota_exhausted")).toMatchObject([
    { event: "request", fields: { client: "opencode" } },
    { event: "request", fields: { client: "opencode" } },
  ]);
  expect(fake.logged).toContainEqual({ level: "info", event: "refused", fields: { status: 401, client: "codex" } });
  expect(JSON.stringify([refused, fake.logged])).not.toContain("a secret text");
});

it("a turn that fails is no refused request: the list of turns has it", async () => {
  const fake = fakeGateway();
  const error = new MillraceError("quota_exhausted", "The quota is used up.").toRecord();
  fake.turns.script = () => [{ type: "failed", error }];
  expect((await fake.request("/v1/chat/completions", { json: body })).status).toBe(429);
  expect(await healthOf(fake)).toMatchObject({ refused: { requests: 0, by: [] } });
});

it("a flood of invented names makes neither series nor rows without end", async () => {
  const fake = fakeGateway();
  for (let index = 0; index < 200; index++)
    await fake.request("/v1/chat/completions", { json: body, headers: { ...anonymous, ...agent(`bot-${index}`) } });
  const { refused } = (await healthOf(fake)) as { refused: { requests: number; by: { client: string }[] } };
  expect(refused.requests).toBe(200);
  expect(refused.by.length).toBeLessThan(61);
  expect(refused.by[0]).toMatchObject({ client: "other", requests: 170 });
});

it("a model that a limit blocks is named with the end of the limit", async () => {
  const fake = fakeGateway();
  const nowMs = fake.clock.now();
  const model = "test-model" as ModelUid;
  fake.turns.blocks = [{ model, code: "quota_exhausted", sinceMs: nowMs, untilMs: nowMs + 60_000 }];
  const until = new Date(nowMs + 60_000).toISOString();
  expect(await healthOf(fake)).toMatchObject({ blocked: [{ model, code: "quota_exhausted", until }] });
  expect(await (await fake.request("/metrics")).text()).toContain(
    `millrace_model_blocked_until_timestamp_seconds{model="test-model",code="quota_exhausted"} ${(nowMs + 60_000) / 1000}`,
  );
  const guest = await fake.request("/health", { headers: { authorization: `Bearer ${guestKey}` } });
  expect(await guest.json()).toEqual({ status: "ok", name: "millrace" });
});
