import { Agent, type IncomingMessage, request } from "node:http";
import { describe, expect, it } from "vitest";
import { requestBytes, sendRaw } from "../attacks/raw-socket.ts";
import { ask, sharedWorld } from "../support/world.ts";

const world = sharedWorld(["--retention", "1m"]);
const portOf = () => Number(new URL(world().served.url).port);
const megabyte = 1024 * 1024;

const isWhole = (text: string) => text.endsWith("\r\n0\r\n\r\n") || /\r\n\r\n\{.*\}$/s.test(text);

/** One request on a connection of its own. `announced`: the length that its head says, if more is to come than is sent. */
async function post(path: string, body: string, announced = Buffer.byteLength(body)) {
  const headers = {
    host: "127.0.0.1",
    authorization: `Bearer ${world().served.key}`,
    "content-type": "application/json",
    "content-length": String(announced),
    connection: "close",
  };
  const { statuses, text } = await sendRaw(portOf(), requestBytes("POST", path, headers, body), isWhole);
  return { status: statuses[0], text };
}

/** Whether another client is answered before `work` is done. */
async function othersAreServedDuring(work: Promise<unknown>): Promise<boolean> {
  const done = work.then(() => false);
  const health = fetch(`${world().served.url}/health`).then(({ status }) => status === 200);
  return Promise.race([health, done]);
}

const chat = (content: unknown, more: object = {}) =>
  JSON.stringify({ ...ask(""), messages: [{ role: "user", content }], ...more });

describe("a tool's schema", () => {
  const again = { $ref: "#/$defs/one" };
  const doubling = { properties: { text: again, one: { anyOf: [again, again] } } };
  const call = (text: unknown) => `[[agent\ncall submit ${JSON.stringify({ text, ...nested(40) })}\n]] Work.`;
  const nested = (levels: number): object => (levels === 0 ? {} : { one: nested(levels - 1) });

  it.each<[string, object]>([
    ["with an expression that takes for ever", { properties: { text: { type: "string", pattern: "^(a+)+$" } } }],
    ["with such an expression for names", { patternProperties: { "^(.+)+$x": { type: "string" } } }],
    [
      "whose alternatives double at each level",
      { ...doubling, required: ["none"], $defs: { one: { ...doubling, type: "object", required: ["none"] } } },
    ],
    ["that refers to itself", { allOf: [{ $ref: "#" }] }],
  ])("%s stops neither its own turn nor another client", async (_, schema) => {
    const { client } = world();
    const parameters = { type: "object", ...schema };
    const turn = client.chat.completions.create({
      ...ask(call(`${"a".repeat(64)}!`)),
      tools: [{ type: "function", function: { name: "submit", parameters } }],
    });
    expect(await othersAreServedDuring(turn)).toBe(true);
    expect((await turn).choices[0]?.finish_reason).toBe("tool_calls");
  });
});

describe("a body", () => {
  const path = "/v1/chat/completions";

  it("of 3 million members is refused by its limit", async () => {
    const metadata = `[${'{"a-member-name":1},'.repeat(3_000_000)}0]`;
    const body = chat("hello").replace(/\}$/, `,"max_tokens":9,"metadata":${metadata}}`);
    expect(body.length).toBeGreaterThan(55 * megabyte);
    const refusal = post(path, body);
    expect(await othersAreServedDuring(refusal)).toBe(true);
    const { status, text } = await refusal;
    expect(status).toBe(413);
    expect(text).toMatch(/more than 250,000 JSON values.*fewer messages/s);
  });

  it("of more than 8 MB is served where images make it large", async () => {
    const url = `data:image/png;base64,${"iVBORw0KGgo/".repeat(megabyte)}`;
    const { status } = await post(
      path,
      chat([
        { type: "text", text: "Look." },
        { type: "image_url", image_url: { url } },
      ]),
    );
    expect(status).toBe(200);
  });

  it("that was refused before its end does not block the next request on its connection", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const body = JSON.stringify({ ...ask(""), metadata: Array.from({ length: 1_500_000 }, () => 1) });
    const headers = { authorization: `Bearer ${world().served.key}`, "content-type": "application/json" };
    const again = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request(`${world().served.url}${path}`, { method: "POST", headers, agent }, resolve);
        sent.once("error", reject);
        sent.end(body);
      });
    for (let n = 0; n < 3; n++) {
      const answer = await again();
      expect(answer.statusCode).toBe(413);
      await answer.toArray();
    }
    agent.destroy();
  });

  it("waits for its turn while large ones take all memory, and a small one is served", async () => {
    const url = `data:image/png;base64,${"A".repeat(40 * megabyte)}`;
    const image = [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }];
    const begun = JSON.stringify({ ...ask(""), messages: image }).slice(0, -100);
    const open = Array.from({ length: 4 }, () => post(path, begun, 60 * megabyte));
    const { status, text } = await Promise.race(open);
    expect(status).toBe(503);
    expect(text).toMatch(/^retry-after: \d/im);
    expect((await post(path, chat("hello"))).status).toBe(200);
  });
});
