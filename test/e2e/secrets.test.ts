import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { ideSystemPrompt } from "../../simulator/parts.ts";
import { millrace } from "../support/gateway-process.ts";
import { ask, collect, model, world } from "../support/world.ts";

const canary = "canary-of-prompt-and-answer-7f3a9c";

/** The files of a folder, however deep, that hold a text in the clear. */
async function filesWith(folder: string, text: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await contentOf(path)).includes(text)) found.push(relative(folder, path));
  }
  return found;
}

/** What a file holds; nothing where it is gone meanwhile, as one that was written beside its place and moved there. */
async function contentOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.of();
    throw error;
  }
}

test("no credential shows in a log line, an error or a response, and no prompt or answer in any file (G9)", async () => {
  const planted = "sk-ws-01-planted-canary-0123456789abcdef";
  const { home, ide, served, client } = await world({ simulator: { apiKey: planted }, args: ["--log-level", "debug"] });
  const seen: string[] = [];
  const remember = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${served.url}${path}`, init);
    seen.push(JSON.stringify([...response.headers]), await response.text());
  };
  const authorized = { authorization: `Bearer ${served.key}` };
  await remember("/");
  await remember("/health", { headers: authorized });
  await remember("/v1/models");
  await remember("/v1/models", { headers: { authorization: "Bearer wrong-key-of-somebody-else" } });
  await remember("/v1/models", { headers: authorized });
  await remember("/v1/turns", { headers: authorized });
  await remember("/v1/chat/completions", { method: "POST", headers: authorized, body: "{" });
  seen.push(
    JSON.stringify(await collect(await client.chat.completions.create({ ...ask("echo-prompt"), stream: true }))),
  );
  await ide.setFaults([{ rpc: "SendUserCascadeMessage", csrf: true }]);
  seen.push(JSON.stringify(await client.chat.completions.create(ask("hi")).catch((error: unknown) => error)));
  await ide.setFaults([{ rpc: "*", error: { code: "internal", message: `it broke with ${planted}` } }]);
  seen.push(JSON.stringify(await client.chat.completions.create(ask("hi there")).catch((error: unknown) => error)));
  await ide.setFaults([]);
  for (const argv of [["doctor", "--json"], ["models", "--json"], ["keys"], ["doctor"]]) {
    const { stdout, stderr } = await millrace(argv, { home });
    seen.push(stdout, stderr);
  }
  const headers = { "idempotency-key": canary, "x-session-id": canary };
  await client.chat.completions.create(
    {
      ...ask(`[[sim: text="the answer is ${canary}"]] ${canary}`),
      tools: [{ type: "function", function: { name: canary } }],
    },
    { headers },
  );
  const data = join(home, ".millrace");
  expect(await filesWith(data, canary)).toEqual([]);
  await served.stop();
  seen.push(served.log());
  for (const secret of [canary, planted, ide.csrfToken.reveal()]) expect(await filesWith(data, secret)).toEqual([]);
  expect(await filesWith(data, served.key)).toEqual(["key"]); // the search finds what is there

  const everything = seen.join("\n");
  for (const secret of [planted, ide.csrfToken.reveal(), served.key]) expect(everything).not.toContain(secret);
  expect(served.log()).toContain('"event"');
});

test("nothing of the IDE's own prompt, its folders or its steps reaches a client, on any surface", async () => {
  const { home, served } = await world({
    simulator: { workspace: "/home/canary-of-a-folder/project", turn: { rate: "instant" } },
  });
  const headers = { authorization: `Bearer ${served.key}`, "content-type": "application/json" };
  const question = "[[sim: thinking=200]] echo-prompt";
  const bodies = {
    "/v1/chat/completions": { messages: [{ role: "user", content: question }] },
    "/v1/responses": { input: question },
    "/v1/messages": { max_tokens: 2_000, messages: [{ role: "user", content: question }] },
  };
  const seen: string[] = [];
  for (const more of ["", "[[sim: error=internal]]", "[[sim: tools=2 tool-only]]"]) {
    for (const [path, body] of Object.entries(bodies)) {
      const json = JSON.stringify({ model, stream: more === "", ...body }).replace(
        "echo-prompt",
        `echo-prompt ${more}`,
      );
      const response = await fetch(served.url + path, { method: "POST", headers, body: json });
      seen.push(JSON.stringify([...response.headers]), await response.text());
    }
  }
  const everything = seen.join("\n");
  expect(everything).toContain("echo-prompt"); // the model told all that reached it
  for (const own of [ideSystemPrompt, "canary-of-a-folder", home, "CORTEX_STEP_TYPE", "=== MESSAGE"])
    expect(everything).not.toContain(own);
});
