import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import { MillraceError } from "../../base/errors.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { started, text } from "../turn-events.fake.ts";
import { answer, chat, failed, path } from "./turn-route.fake.ts";

const bash = { type: "function", function: { name: "bash", parameters: { type: "object" } } };

describe("a turn that is not streamed", () => {
  it("answers the whole with its length", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const response = await fake.request(path, { json: chat });
    const body = await response.text();
    expect(response.headers.get("content-length")).toBe(String(body.length));
    expect(JSON.parse(body)).toMatchObject({
      object: "chat.completion",
      model: "test-model",
      choices: [{ message: { role: "assistant", content: "Hi there." }, finish_reason: "stop" }],
    });
    expect(fake.turns.delivered(fake.turns.turnId(0))).toBe(true);
  });

  it("asks the SDKs not to repeat a prompt that may have cost credits", async () => {
    proves("http.permanent-4xx");
    const fake = fakeGateway();
    fake.turns.script = () => [started, text("Hal"), failed("upstream_failed")];
    const response = await fake.request(path, { json: chat });
    expect(response.status).toBe(502);
    expect(response.headers.get("x-should-retry")).toBe("false");
    fake.turns.script = () => [failed("upstream_failed")];
    expect((await fake.request(path, { json: { ...chat, user: "other" } })).headers.get("x-should-retry")).toBeNull();
  });

  it("says when an exhausted quota resets, and that waiting in a header is no use", async () => {
    proves("http.retry-after");
    const fake = fakeGateway();
    fake.turns.script = () => [failed("quota_exhausted", { resetsAtMs: Date.UTC(2026, 0, 2), retryAfterMs: 9e8 })];
    const response = await fake.request(path, { json: chat });
    expect(response.status).toBe(429);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(response.headers.get("retry-after")).toBeNull();
    expect(await response.json()).toMatchObject({ error: { resets_at: "2026-01-02T00:00:00.000Z" } });
  });

  it("repeats a quota refusal as 402, in words that no client takes for a temporary limit", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [failed("quota_exhausted", { resetsAtMs: Date.UTC(2026, 0, 2), repeated: true })];
    const response = await fake.request(path, { json: chat });
    expect(response.status).toBe(402);
    expect(response.headers.get("x-should-retry")).toBe("false");
    // words that OpenCode 1.18 looks for in the text of an error that its status does not let it repeat
    expect(await response.text()).not.toMatch(/429|500|502|503|504|524|rate.limit|server.error|try again|terminated/i);
    const messages = await fake.request("/v1/messages", { json: { ...chat, max_tokens: 9 } });
    expect(messages.status).toBe(402);
    expect(await messages.json()).toMatchObject({ error: { type: "billing_error", code: "quota_exhausted" } });
  });

  it.each([
    ["native", { tools: [bash] }, { tools: "native" as const }],
    ["prose", { tools: [bash] }, {}],
    [null, { tools: [bash], tool_choice: "none" }, {}],
    [null, {}, {}],
  ])("says %s of the way of its tools, streamed or whole", async (way, asked, began) => {
    const fake = fakeGateway();
    fake.turns.script = () => [{ ...started, ...began }, ...answer.slice(1)];
    for (const stream of [false, true]) {
      const { headers } = await fake.request(path, { json: { ...chat, ...asked, stream } });
      expect(headers.get("x-millrace-tools")).toBe(way);
    }
  });

  it("answers a cancelled turn with 499", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => [started, { type: "cancelled", by: "client" }];
    expect((await fake.request(path, { json: chat })).status).toBe(499);
  });
});

describe("bodies", () => {
  it("takes a body up to its limit, and refuses what is over the limit in the caller's own shape", async () => {
    proves("http.body-size");
    const fake = fakeGateway({ maxBodyBytes: 3 * 1024 * 1024 });
    fake.turns.script = () => answer;
    const sized = (bytes: number) => {
      const image_url = { url: `data:image/png;base64,${"A".repeat(bytes)}` };
      return JSON.stringify({ ...chat, messages: [{ role: "user", content: [{ type: "image_url", image_url }] }] });
    };
    expect((await fake.request(path, { method: "POST", body: sized(3 * 1024 * 1024 - 200) })).status).toBe(200);
    const over = await fake.request(path, { method: "POST", body: sized(3 * 1024 * 1024) });
    expect(over.status).toBe(413);
    expect(await over.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });

  it.each(["{", "", "[]", '"x"', "\uFEFF{}", "null"])("answers the body %j with 400", async (body) => {
    const response = await fakeGateway().request(path, { method: "POST", body });
    expect(response.status).toBe(400);
  });

  it("takes any content type that JSON comes with", async () => {
    proves("http.body-size");
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const headers = { "content-type": "application/json; charset=utf-8" };
    expect((await fake.request(path, { json: chat, headers })).status).toBe(200);
  });

  it("gives the turns what the headers say of the caller", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const headers = {
      "x-session-id": "ses_1",
      "user-agent": "opencode/1.18.33 linux",
      "x-millrace-project": "demo",
      "x-millrace-grace": "90",
      "x-stainless-retry-count": "1",
      "idempotency-key": '"k-1"',
    };
    await fake.request(path, { json: chat, headers });
    await fake.request(`${path}?detach=1`, { json: { ...chat, user: "2" } });
    await fake.request(path, { json: { ...chat, user: "3" }, headers: { "x-millrace-grace": "detach" } });
    expect(fake.turns.started).toMatchObject([
      {
        session: "ses_1",
        client: "opencode/1.18.33",
        project: "demo",
        graceMs: 90_000,
        retry: true,
        idempotencyKey: "k-1",
      },
      { graceMs: Number.POSITIVE_INFINITY, retry: false, idempotencyKey: undefined },
      { graceMs: Number.POSITIVE_INFINITY },
    ]);
    expect((await fake.request(path, { json: chat, headers: { "x-millrace-grace": "soon" } })).status).toBe(400);
    expect(
      (await fake.request(path, { json: chat, headers: { "idempotency-key": "a", "x-idempotency-key": "b" } })).status,
    ).toBe(400);
  });
});

describe("what goes wrong", () => {
  it("separates a bug from a refusal: the log gets the details, and the client does not", async () => {
    const fake = fakeGateway();
    fake.turns.refuses = new TypeError("secret path /home/someone") as unknown as MillraceError; // a bug, not one of ours
    const response = await fake.request(path, { json: chat });
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("/home/someone");
    expect(JSON.stringify(fake.logged)).toContain("/home/someone");
  });

  it("logs no body, prompt or key", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    const secretChat = { ...chat, messages: [{ role: "user", content: "canary-prompt" }] };
    await (await fake.request(path, { json: secretChat })).text();
    await fake.request(path, { json: { ...secretChat, n: 3 }, headers: { "x-api-key": "canary-key-0123456789" } });
    expect(JSON.stringify(fake.logged)).not.toMatch(/canary|mr-test-key|Hi there/);
  });

  it("answers also when the store cannot show the turn's record", async () => {
    const fake = fakeGateway();
    fake.turns.script = () => answer;
    fake.turns.degraded = true;
    fake.turns.get = async () => {
      throw new MillraceError("degraded", "The disk is full.");
    };
    const response = await fake.request(path, { json: chat });
    expect(response.headers.get("x-millrace-degraded")).toBe("true");
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: "Hi there." } }] });
  });

  it("passes on what the turns refuse", async () => {
    const fake = fakeGateway();
    fake.turns.refuses = new MillraceError("expired", "The answer is no longer kept.");
    expect((await fake.request(path, { json: chat })).status).toBe(410);
  });
});
