import { strict as assert } from "node:assert";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { APIError } from "openai";
import { installPackages, versionOf } from "../clients/install.ts";
import { type GatewayProcess, millrace, startGatewayProcess } from "../support/gateway-process.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";

/*
 * `npm run test:agents`: a real ACP agent (OpenCode's published package, `opencode acp`) that config.toml names, a local
 * OpenAI-compatible server as its model, a real gateway process, and the real openai SDK in front. Docs: docs/agents.md.
 */
const packages = await installPackages(join(import.meta.dirname, "package.json"));
const home = mkdtempSync(join(tmpdir(), "millrace-agents-"));
const model = await startModelServer();
const patience = () => AbortSignal.timeout(120_000);
let failed = 0;

/** The agent's configuration, and Millrace's that names the agent. */
function configure({ url }: ModelServer): void {
  const opencode = join(home, "opencode.json");
  writeFileSync(
    opencode,
    JSON.stringify({
      autoupdate: false,
      share: "disabled",
      enabled_providers: ["mock"],
      model: "mock/m1",
      small_model: "mock/m1",
      provider: {
        mock: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: url, apiKey: "local" },
          models: { m1: { name: "M 1" }, m2: { name: "M 2" } },
        },
      },
    }),
  );
  mkdirSync(join(home, ".millrace"), { recursive: true, mode: 0o700 });
  const bin = join(packages, "node_modules/.bin/opencode");
  writeFileSync(
    join(home, ".millrace/config.toml"),
    [
      "[[agents]]",
      'name = "opencode"',
      `command = [${JSON.stringify(bin)}, "acp"]`,
      `set = { OPENCODE_CONFIG = ${JSON.stringify(opencode)}, OPENCODE_DISABLE_MODELS_FETCH = "1" }`,
      "",
    ].join("\n"),
  );
}

async function check(sentence: string, run: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  let failure = "";
  try {
    await run();
  } catch (error) {
    failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    failed++;
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stderr.write(`${(failure === "" ? "ok" : "FAILED").padEnd(7)} ${sentence} ${seconds} s ${failure}\n`);
}

const clientOf = ({ url, key }: GatewayProcess) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const ask = (content: string, asked = "opencode/mock/m1") => ({
  model: asked,
  messages: [{ role: "user" as const, content }],
});

/** An answer of a keyed request, read to its end or to the first text. */
async function stream(gateway: GatewayProcess, content: string, key: string): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${gateway.key}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body: JSON.stringify({ ...ask(content), stream: true }),
    signal: patience(),
  });
}

configure(model);
process.stderr.write(`OpenCode ${versionOf(packages, "opencode-ai")}\n`);
let gateway = await startGatewayProcess({ home });
try {
  await check("its models are listed as opencode/<model>", async () => {
    const { data } = await clientOf(gateway).models.list();
    assert.deepEqual(
      data.map(({ id }) => id).filter((id) => id.startsWith("opencode/mock/")),
      ["opencode/mock/m1", "opencode/mock/m2"],
    );
  });
  await check("a streamed answer comes whole, with the agent's usage, from one prompt", async () => {
    const create = clientOf(gateway).chat.completions.create({
      ...ask("Please count to 5 for alpha."),
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
    const answer = await clientOf(gateway).responses.create({
      model: "opencode/mock/m2",
      input: "Please count to 3 for beta.",
    });
    assert.equal(answer.output_text, "1, 2, 3");
    assert.deepEqual(
      model.asked("beta").map((asked) => asked.model),
      ["m2"],
    );
  });
  await check("a tool of the agent's own that writes ends the turn, and writes nothing", async () => {
    const file = join(home, "written-by-the-agent.txt");
    const json = JSON.stringify({ filePath: file, content: "x" });
    const asked = clientOf(gateway).chat.completions.create(ask(`For gamma use the tool write with ${json} now.`));
    await assert.rejects(asked, (error: unknown) => error instanceof APIError);
    assert.equal(existsSync(file), false);
  });
  await check("a gateway killed in the middle of an answer never asks again", async () => {
    const question = "Please hold and count to 9 for delta.";
    const cut = await stream(gateway, question, "delta");
    await model.held();
    await gateway.kill();
    await cut.body?.cancel().catch(() => {});
    model.release();
    gateway = await startGatewayProcess({ home });
    const again = await (await stream(gateway, question, "delta")).text();
    assert.match(again, /"error"|\[DONE\]/);
    assert.equal(model.asked("delta").length, 1);
  });
  await check("a client that comes back with its key gets the answer again without a prompt", async () => {
    const first = await (await stream(gateway, "Please count to 4 for epsilon.", "epsilon")).text();
    const second = await (await stream(gateway, "Please count to 4 for epsilon.", "epsilon")).text();
    const content = (text: string) => [...text.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece).join("");
    assert.equal(content(first), "1, 2, 3, 4");
    assert.equal(content(second), content(first));
    assert.equal(model.asked("epsilon").length, 1);
  });
  await check("doctor says what the agent takes", async () => {
    const { stdout } = await millrace(["doctor"], { home });
    assert.match(stdout, /The agent opencode answers: .*2 models, started in [\d.]+ s, \d+ MB of memory/);
    process.stderr.write(`        ${/The agent opencode answers: .*/.exec(stdout)?.[0] ?? ""}\n`);
  });
} finally {
  await gateway.stop();
  await model.close();
  if (failed > 0) process.stderr.write(`${gateway.log()}\nkept: ${home} ${readdirSync(home).join(" ")}\n`);
  else rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
process.exitCode = failed > 0 ? 1 : 0;
