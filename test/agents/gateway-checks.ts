import { strict as assert } from "node:assert";
import process from "node:process";
import { millrace } from "../support/gateway-process.ts";
import type { Bench } from "./bench.ts";
import { check } from "./check.ts";

/** An answer of a keyed request, read to its end or to the first text. */
async function stream({ gateway, asked }: Bench, content: string, key: string): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${gateway.key}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body: JSON.stringify({ model: asked, messages: [{ role: "user", content }], stream: true }),
    signal: AbortSignal.timeout(40_000),
  });
}

/** What a gateway promises of any agent, tried with OpenCode: its two models, a stream, a kill, a key. */
export async function checkGateway(bench: Bench): Promise<void> {
  const { model } = bench;
  await check("its models are listed as opencode/<model>", async () => {
    const { data } = await bench.client().models.list();
    const listed = data.map(({ id }) => id).filter((id) => id.startsWith("opencode/mock/"));
    assert.deepEqual(listed, ["opencode/mock/m1", "opencode/mock/m2"]);
  });
  await check("a streamed answer comes whole, with the agent's usage, from one prompt", async () => {
    const create = bench.client().chat.completions.create({
      model: bench.asked,
      messages: [{ role: "user", content: "Please count to 5 for alpha." }],
      stream: true,
      stream_options: { include_usage: true },
    });
    const { data, response } = await create.withResponse();
    let text = "";
    let tokens: number | undefined;
    for await (const chunk of data) {
      text += chunk.choices[0]?.delta.content ?? "";
      tokens = chunk.usage?.completion_tokens ?? tokens;
    }
    assert.equal(text, "1, 2, 3, 4, 5");
    assert.equal(tokens, 7);
    assert.equal(response.headers.get("x-millrace-backend"), "acp");
    assert.equal(model.asked("alpha").length, 1);
  });
  await check("another model of the agent is chosen by its name", async () => {
    const answer = await bench.client().responses.create({
      model: "opencode/mock/m2",
      input: "Please count to 3 for beta.",
    });
    assert.equal(answer.output_text, "1, 2, 3");
    assert.deepEqual(
      model.asked("beta").map((asked) => asked.model),
      ["m2"],
    );
  });
  await check("a gateway killed in the middle of an answer never asks again", async () => {
    const question = "Please hold and count to 9 for delta.";
    const cut = await stream(bench, question, "delta");
    await model.held();
    await bench.gateway.kill();
    await cut.body?.cancel().catch(() => {});
    model.release();
    await bench.restart();
    const again = await (await stream(bench, question, "delta")).text();
    assert.match(again, /"error"|\[DONE\]/);
    assert.equal(model.asked("delta").length, 1);
  });
  await check("a client that comes back with its key gets the answer again without a prompt", async () => {
    const first = await (await stream(bench, "Please count to 4 for epsilon.", "epsilon")).text();
    const second = await (await stream(bench, "Please count to 4 for epsilon.", "epsilon")).text();
    const content = (text: string) => [...text.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece).join("");
    assert.equal(content(first), "1, 2, 3, 4");
    assert.equal(content(second), content(first));
    assert.equal(model.asked("epsilon").length, 1);
  });
  await check("doctor says what the agent takes", async () => {
    const { stdout } = await millrace(["doctor"], { home: bench.place.home });
    assert.match(stdout, /The agent opencode answers: .*2 models, started in [\d.]+ s, \d+ MB of memory/);
    process.stderr.write(`        ${/The agent opencode answers: .*/.exec(stdout)?.[0] ?? ""}\n`);
  });
}
