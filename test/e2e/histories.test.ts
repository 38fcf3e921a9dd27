import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { model, patience, sharedWorld } from "../support/world.ts";

/*
 * Bodies as clients of November 2026 send them, over a real gateway, its real log and the stand-in IDE, which answers `echo-prompt` with
 * everything that reached it.
 */

const at = sharedWorld([]);
const big = "2512292042121000001";
const ask = "echo-prompt";

async function post(
  path: string,
  body: object | string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
) {
  const { served } = at();
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(`${served.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${served.key}`, "content-type": "application/json", ...headers },
    body: isRaw ? body : JSON.stringify({ model, ...body }),
    signal: patience(),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

function outputOf(text: string) {
  return (JSON.parse(text) as { output: { id: string; type: string; content?: { text: string }[] }[] }).output;
}

it("a message of another agent and an answer that is referred to reach the model", async () => {
  const first = await post("/v1/responses", { input: "echo: FIRST-ANSWER" });
  const message = outputOf(first.text).find(({ type }) => type === "message");
  const content = [{ type: "encrypted_content", encrypted_content: "PAYLOAD 7" }];
  const second = await post("/v1/responses", {
    input: [
      { role: "user", content: "echo" },
      { type: "item_reference", id: message?.id },
      { type: "agent_message", author: "/lead", recipient: "/lead/probe", content },
      { type: "ghost_snapshot" },
      { role: "user", content: ask },
    ],
  });
  expect([second.status, second.headers.get("x-millrace-left-out")]).toEqual([200, "ghost_snapshot"]);
  for (const said of ["FIRST-ANSWER", "/lead → /lead/probe", "PAYLOAD 7"]) expect(second.text).toContain(said);
  const unknown = await post("/v1/responses", { input: [{ type: "item_reference", id: "msg_unknown" }] });
  expect(unknown.status).toBe(404);
});

it("a compaction is one item, streamed too", async () => {
  const input = [
    { role: "user", content: "long" },
    { role: "assistant", content: "done" },
    { type: "compaction_trigger" },
  ];
  const whole = await post("/v1/responses", { input, store: false });
  expect(outputOf(whole.text).map(({ type }) => type)).toEqual(["compaction"]);
  const streamed = await post("/v1/responses", { input, store: false, stream: true });
  expect(streamed.text.match(/^event: .*/gm)).toEqual([
    "event: response.created",
    "event: response.in_progress",
    "event: response.output_item.added",
    "event: response.output_item.done",
    "event: response.completed",
  ]);
});

it("a conversation goes on after a PDF, with its numbers as they were", async () => {
  const data = Buffer.from("%PDF-1.4\n%%EOF").toString("base64");
  const pdf = JSON.stringify({ type: "document", source: { type: "base64", media_type: "application/pdf", data } });
  const messages = `[{"role":"user","content":"read"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{"id":${big}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"PDF file read"},${pdf}]},{"role":"assistant","content":"It failed."},{"role":"user","content":"${ask}"}]`;
  const body = `{"model":"${model}","max_tokens":4000,"messages":${messages}}`;
  const answer = await post("/v1/messages", body);
  expect(answer.status).toBe(200);
  expect(answer.text).toContain("a PDF that this gateway cannot read");
  expect(answer.text).toContain(big);
  expect((await post("/v1/messages/count_tokens", body)).status).toBe(200);
});

it.each([
  ["/v1/chat/completions", {}],
  ["/v1/messages", { max_tokens: 99 }],
  ["/api/chat", {}],
])("no line of a stream of %s can be cut inside", async (path, more) => {
  const content = "echo: one\u2028two\u2029three\u0085four";
  const { text } = await post(path, { messages: [{ role: "user", content }], stream: true, ...more });
  expect(text).toContain("\\u2028two");
  expect(text).not.toMatch(/[\u0085\u2028\u2029]/);
});

it("the last directive chooses the effort; no tokens asked for are no prompt; a body may be compressed", async () => {
  const directive = { role: "system", content: [], output_config: { effort: "low" } };
  const messages = [{ role: "user", content: "echo: x" }, directive];
  const asked = { model: "claude-opus-4.7", max_tokens: 50, output_config: { effort: "medium" }, messages };
  expect((await post("/v1/messages", asked)).headers.get("x-millrace-model")).toMatch(/low/);
  const none = await post("/v1/messages", { max_tokens: 0, messages });
  expect([none.status, none.headers.get("x-millrace-turn")]).toEqual([200, null]);
  const body = gzipSync(JSON.stringify({ model, input: "echo: packed" }));
  const coded = await post("/v1/responses", new Uint8Array(body), { "content-encoding": "gzip" });
  expect(coded.text).toContain("packed");
});

it("a stream of Ollama that fails is cut after its error", async () => {
  const { served } = at();
  const asked = fetch(`${served.url}/api/chat`, {
    method: "POST",
    headers: { authorization: `Bearer ${served.key}` },
    body: JSON.stringify({
      model,
      messages: [{ role: "user", content: "count to 20 [[sim: error=internal error-after=20]]" }],
    }),
    signal: patience(),
  });
  const { body } = await asked;
  let text = "";
  const read = async () => {
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece;
  };
  await expect(read()).rejects.toThrow(/terminated/);
  expect(text.trimEnd().split("\n").at(-1)).toMatch(/^\{"error":/);
});
