import Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { SimulatorOptions } from "../../simulator/index.ts";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { openMemoryRecordStore } from "../../src/client/records/memory-record-store.ts";
import { startReliableStream } from "../../src/client/stream/open-stream.ts";
import { millrace, startGatewayProcess } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { bash } from "../support/tool-loop.ts";
import { collect, gateway, openai, patience, simulator } from "../support/world.ts";
import { ask, machine, model, prompted } from "./acp-machine.ts";

const machines: readonly (readonly [string, SimulatorOptions])[] = [
  ["an editor whose Cascade is retired", { profile: "devin-3" }],
  ["the CLI alone", { profile: "devin-cli" }],
  ["an upgraded Windsurf", { profile: "devin-3", upgraded: true }],
  ["the editor and the CLI", { profile: "devin-3", agent: { cli: true } }],
  ["an editor whose Cascade RPCs are gone", { profile: "devin-3", cascade: "removed" }],
];

describe.each(machines)("on a machine with %s", (_, options) => {
  it("every API answers through the agent, with one prompt each", async () => {
    const { ide, served, client } = await machine(options);
    const list = await client.models.list();
    expect(list.data.map(({ id }) => id)).toContain(model);

    const chat = client.chat.completions.create({ ...ask("count to 7"), stream: true });
    const { data, response } = await chat.withResponse();
    expect(response.headers.get("x-millrace-backend")).toBe("acp");
    expect(await collect(data)).toEqual({ text: "1, 2, 3, 4, 5, 6, 7", reason: "stop" });

    const answered = await client.responses.create({ model, input: "count to 8" });
    expect(answered.output_text).toBe("1, 2, 3, 4, 5, 6, 7, 8");

    const anthropic = new Anthropic({ baseURL: served.url, apiKey: served.key, maxRetries: 0 });
    const message = await anthropic.messages.create({ ...ask("count to 9"), max_tokens: 1_000 });
    expect(message.content.find(({ type }) => type === "text")).toMatchObject({ text: "1, 2, 3, 4, 5, 6, 7, 8, 9" });

    const link = { gateway: nodeLink({ url: served.url, key: served.key }), store: openMemoryRecordStore() };
    const question = { model, messages: [{ role: "user" as const, text: "count to 6" }] };
    const stream = await startReliableStream(question, link, patience());
    let text = "";
    for await (const event of stream.events) if (event.type === "text") text += event.delta;
    expect(text).toBe("1, 2, 3, 4, 5, 6");

    expect(prompted(ide)).toEqual(["count to 7", "count to 8", "count to 9", "count to 6"]);
    expect(ide.prompts().map((prompt) => prompt.model)).toEqual(Array(4).fill("swe-2-high"));
  });
});

describe("on a machine where nothing can be asked", () => {
  it("names the product and what to do", async () => {
    const client = openai(await gateway({ home: temporaryHome() }));
    const refusal = { status: 424, code: "ide_not_running", message: expect.stringContaining("Devin") as string };
    await expect(client.chat.completions.create(ask("count to 7"))).rejects.toMatchObject(refusal);
  });

  it("says that no account is signed in to the agent", async () => {
    const { client, ide } = await machine({ profile: "devin-cli", signedOut: true });
    const refusal = client.chat.completions.create(ask("count to 7"));
    await expect(refusal).rejects.toMatchObject({
      code: "not_signed_in",
      message: expect.stringContaining("Devin CLI"),
    });
    expect(ide.prompts()).toEqual([]);
  });
});

describe("clients' own forms over the agent", () => {
  it("in prose, calls of tools come whole, and their results go back, in one session to the end of the loop", async () => {
    const { ide, client } = await machine({ profile: "devin-3", agent: { stdioServers: false } });
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "user", content: "[[sim: agent=loop]] Look around." },
    ];
    const rounds: number[] = [];
    for (let reason: string | undefined = "tool_calls"; reason === "tool_calls"; ) {
      const { choices } = await client.chat.completions.create({ model, messages, tools: [bash] });
      const [choice] = choices;
      const calls = choice?.message.tool_calls ?? [];
      rounds.push(calls.length);
      reason = choice?.finish_reason;
      if (choice !== undefined) messages.push(choice.message);
      for (const { id } of calls)
        messages.push({ role: "tool", tool_call_id: id, content: `file-of-note-${rounds.length}.txt` });
    }
    expect(rounds).toEqual([2, 1, 0]);
    const prompts = ide.prompts();
    expect(prompts.map(({ text }) => /file-of-note-\d/.exec(text)?.[0])).toEqual([
      undefined,
      "file-of-note-1",
      "file-of-note-2",
    ]);
    expect(new Set(prompts.map(({ sessionId }) => sessionId)).size).toBe(1);
  });
});

describe("never twice", () => {
  it.each<[string, SimulatorOptions]>([
    ["where all prompts go to the agent", {}],
    ["beside Cascade, for a model that only the agent offers", { ideVersion: "3.8.20", cascade: "on" }],
  ])(
    "a gateway killed in the middle of an answer loses nothing of it, asks once, and leaves no agent behind: %s",
    async (_, build) => {
      const home = temporaryHome();
      const ide = await simulator({ home, profile: "devin-3", ...build, turn: { holdAfter: 12 } });
      const first = await startGatewayProcess({ home });
      const body = JSON.stringify({ ...ask("write 400 characters"), stream: true });
      const headers = (key: string) => ({
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": "one-question",
      });
      const url = `${first.url}/v1/chat/completions`;
      const cut = await fetch(url, { method: "POST", headers: headers(first.key), body, signal: patience() });
      const reader = cut.body?.getReader();
      await reader?.read();
      await ide.untilAgent(({ prompts }) => prompts.length === 1, patience());
      const [agent] = ide.prompts();
      await first.kill();
      await reader?.cancel().catch(() => {});
      await ide.release();
      const second = await gateway({ home });
      const again = await fetch(`${second.url}/v1/chat/completions`, {
        method: "POST",
        headers: headers(second.key),
        body,
        signal: patience(),
      });
      const text = await again.text();
      expect(prompted(ide)).toEqual(["write 400 characters"]);
      const contents = [...text.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, content = ""]) => content);
      expect(contents.join("")).toHaveLength(400);
      expect(text).toContain("[DONE]");
      await second.stop();
      await gone(agent?.pid ?? 0);
    },
  );
});

it("a session that a killed gateway kept is listed and cleaned up at the agent", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, profile: "devin-3" });
  const served = await startGatewayProcess({ home });
  await openai(served).chat.completions.create(ask("count to 7"));
  const [kept] = ide.prompts();
  await served.kill();
  const id = `acp:devin:${kept?.sessionId ?? ""}`;
  const listed = await millrace(["doctor", "--conversations", "--json"], { home });
  expect(JSON.parse(listed.stdout)).toMatchObject({ sessions: [{ session_id: id }] });
  const cleaned = await millrace(["doctor", "--conversations", "--delete-older", "0"], { home });
  expect([cleaned.code, cleaned.stdout]).toEqual([0, expect.stringContaining("1 session of agents")]);
  expect(ide.agentReport().deletes).toEqual([kept?.sessionId]);
  const after = await millrace(["doctor", "--conversations", "--json"], { home });
  expect(JSON.parse(after.stdout)).toMatchObject({ sessions: [] });
});

/** Resolves when no process has this id. */
async function gone(pid: number): Promise<void> {
  const signal = patience();
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return; // ESRCH: it is gone
    }
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
