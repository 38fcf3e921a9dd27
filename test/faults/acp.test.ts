import Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { openMemoryRecordStore } from "../../src/client/records/memory-record-store.ts";
import { startReliableStream } from "../../src/client/stream/start-stream.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import type { Simulator } from "../../src/simulator/start.ts";
import { millrace, startGatewayProcess } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { collect, gateway, openai, patience, simulator } from "../support/world.ts";

const model = "swe-2:high";
/** The language server of an older build lists this one too. */
const olderModel = "gemini-3-flash";
const ask = (content: string, asked = model) => ({ model: asked, messages: [{ role: "user" as const, content }] });

/** A machine with the stand-in for Devin, and a gateway on it. */
async function machine(options: SimulatorOptions, args: readonly string[] = []) {
  const home = temporaryHome();
  const ide = await simulator({ ...options, home });
  const served = await gateway({ home, args });
  return { home, ide, served, client: openai(served) };
}

/** What a listed model says of itself beside OpenAI's fields. */
interface Listed {
  readonly millrace: { readonly backend: string };
}

/** What the agent was asked, as it was asked. */
const prompted = (ide: Simulator) => ide.prompts().map(({ text }) => text);

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

describe("which backend", () => {
  it("an editor of before 3.9 keeps Cascade, unless the user decides", async () => {
    const old: SimulatorOptions = { profile: "devin-3", ideVersion: "3.8.20", cascade: "on" };
    const { home, ide, client, served } = await machine(old);
    const first = await client.chat.completions.create(ask("count to 7", olderModel)).withResponse();
    expect([first.response.headers.get("x-millrace-backend"), prompted(ide)]).toEqual(["cascade", []]);
    await served.stop();
    const byHand = openai(await gateway({ home, args: ["--backend", "acp"] }));
    const second = await byHand.chat.completions.create(ask("count to 8", olderModel)).withResponse();
    expect([second.response.headers.get("x-millrace-backend"), prompted(ide)]).toEqual(["acp", ["count to 8"]]);
  });

  it("a model that only the agent offers goes to it beside Cascade, in a request, a listing and doctor", async () => {
    const { home, ide, client, served } = await machine({ profile: "devin-3", ideVersion: "3.8.20", cascade: "on" });
    const backendOf = async (content: string, asked: string) => {
      const { response, data } = await client.chat.completions.create(ask(content, asked)).withResponse();
      return [response.headers.get("x-millrace-backend"), data.choices[0]?.message.content];
    };
    expect(await backendOf("count to 5", olderModel)).toEqual(["cascade", "1, 2, 3, 4, 5"]);
    expect(ide.agentReport().processes).toEqual([]);
    expect(await backendOf("count to 6", model)).toEqual(["acp", "1, 2, 3, 4, 5, 6"]);
    expect(await backendOf("count to 7", olderModel)).toEqual(["cascade", "1, 2, 3, 4, 5, 6, 7"]);
    expect(prompted(ide)).toEqual(["count to 6"]);

    const list = await client.models.list();
    const overAcp = list.data.filter((listed) => (listed as unknown as Listed).millrace.backend === "acp");
    expect(overAcp.map(({ id }) => id)).toEqual([
      "claude-opus-5:high", // the language server lists it too, as one that the plan does not allow
      "claude-opus-5:medium",
      "claude-sonnet-5",
      "fusion-opus-swe",
      "gpt-5.6:high",
      "gpt-5.6:low",
      "swe-1.6:slow",
      "swe-2:high",
      "swe-2:max",
      "swe-2:medium",
    ]);
    expect(list.data.length).toBeGreaterThan(overAcp.length + 20);
    const listed = await millrace(["models", "--all", "--json"], { home });
    expect(JSON.parse(listed.stdout)).toContainEqual(expect.objectContaining({ name: model, backend: "acp" }));
    const { stdout } = await millrace(["doctor", "--json"], { home });
    expect(JSON.parse(stdout)).toMatchObject({
      backend: { kind: "cascade", beside: expect.stringContaining("Devin Desktop") as string },
      agents: [{ name: "devin", models: 11 }],
    });
    expect(stdout).toContain("Prompts to models that only");
    await served.stop();
  });

  it("a model that Cascade turns away goes to the agent from then on, and the others stay", async () => {
    const { ide, client } = await machine({ profile: "devin-3", ideVersion: "3.8.20", cascade: "on" });
    const backendOf = async (content: string, asked: string) => {
      const { response } = await client.chat.completions.create(ask(content, asked)).withResponse();
      return response.headers.get("x-millrace-backend");
    };
    expect(await backendOf("count to 4", olderModel)).toBe("cascade");
    const turnedAway = client.chat.completions.create(ask("[[sim: error=devin_local]] Hello", olderModel));
    await expect(turnedAway).rejects.toMatchObject({ code: "backend_retired" });
    expect(await backendOf("count to 5", olderModel)).toBe("acp");
    expect(await backendOf("count to 6", "claude-sonnet-4.5")).toBe("cascade");
    expect(prompted(ide)).toEqual(["count to 5"]);
  });

  it("a Cascade that turns out to be retired hands the same request over, and is remembered", async () => {
    const { ide, client, served } = await machine({ profile: "devin-3", ideVersion: "3.8.20", cascade: "retired" });
    const { response } = await client.chat.completions.create(ask("count to 7", olderModel)).withResponse();
    expect([response.headers.get("x-millrace-backend"), prompted(ide)]).toEqual(["acp", ["count to 7"]]);
    const health = await fetch(`${served.url}/health`, { headers: { authorization: `Bearer ${served.key}` } });
    expect(await health.json()).toMatchObject({
      details: { backend: { kind: "acp", why: "Cascade was removed from this build" } },
    });
  });

  it("doctor and /metrics say which, why, and what the agent costs", async () => {
    const { home, served, client } = await machine({ profile: "devin-cli" });
    await client.chat.completions.create(ask("count to 7"));
    const { code, stdout } = await millrace(["doctor", "--json"], { home });
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as Record<string, unknown>;
    expect(report).toMatchObject({
      backend: { kind: "acp", product: "Devin CLI" },
      agents: [{ name: "devin", models: 11, startup_ms: expect.any(Number) as number }],
    });
    const metrics = await fetch(`${served.url}/metrics`, { headers: { authorization: `Bearer ${served.key}` } });
    const text = await metrics.text();
    expect(text).toContain('millrace_agent_prompts{agent="devin"} 1');
    expect(text).toMatch(/^millrace_agent_startup_seconds\{agent="devin"\} 0?\.?\d/m);
  });
});

const bash = {
  type: "function",
  function: {
    name: "bash",
    parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  },
} as const;

describe("clients' own forms over the agent", () => {
  it("calls of tools come whole, and their results go back, in one session to the end of the loop", async () => {
    const { ide, client } = await machine({ profile: "devin-3" });
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

  it("an answer in JSON fits its schema", async () => {
    const { ide, client } = await machine({ profile: "devin-3" });
    const schema = {
      type: "object",
      properties: { name: { type: "string" }, size: { type: "integer" } },
      required: ["name", "size"],
      additionalProperties: false,
    };
    const answer = await client.chat.completions.create({
      ...ask("Describe a file."),
      response_format: { type: "json_schema", json_schema: { name: "file", schema, strict: true } },
    });
    const value = JSON.parse(answer.choices[0]?.message.content ?? "") as Record<string, unknown>;
    expect([typeof value["name"], Number.isInteger(value["size"])]).toEqual(["string", true]);
    expect(prompted(ide)).toHaveLength(1);
  });
});

describe("never twice", () => {
  it.each<[string, SimulatorOptions]>([
    ["where all prompts go to the agent", {}],
    ["beside Cascade, for a model that only the agent offers", { ideVersion: "3.8.20", cascade: "on" }],
  ])(
    "a gateway killed in the middle of an answer ends it by name with what had come, and leaves no agent behind: %s",
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
      await gone(agent?.pid ?? 0);
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
      // The agent died with its gateway while it wrote: the answer ends by name, with what had come.
      expect(text).toMatch(/ended before it said that its answer was complete/);
    },
  );

  it("a client that lost its connection gets the rest of the same answer", async () => {
    const { ide, served } = await machine({ profile: "devin-3", turn: { rate: 200 } });
    const url = `${served.url}/v1/chat/completions`;
    const headers = { authorization: `Bearer ${served.key}`, "content-type": "application/json" };
    const body = JSON.stringify({ ...ask("write 2000 characters"), stream: true });
    const leave = new AbortController();
    const cut = await fetch(url, { method: "POST", headers, body, signal: leave.signal });
    const reader = cut.body?.pipeThrough(new TextDecoderStream()).getReader();
    let received = "";
    while (!/"content":"[^"]/.test(received)) received += (await reader?.read())?.value ?? "";
    leave.abort();
    const whole = received.slice(0, received.lastIndexOf("\n\n") + 2);
    const [last = ""] = whole.match(/^id: .+$/gm)?.slice(-1) ?? [];
    const resumed = await fetch(url, {
      method: "POST",
      headers: { ...headers, "last-event-id": last.slice("id: ".length) },
      body,
      signal: patience(),
    });
    expect(contentOf(whole + (await resumed.text()))).toHaveLength(2000);
    expect(prompted(ide)).toEqual(["write 2000 characters"]);
  });
});

it("a session that a killed gateway kept is listed and cleaned up at the agent", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, profile: "devin-3" });
  const served = await startGatewayProcess({ home });
  await openai(served).chat.completions.create(ask("count to 7"));
  const [kept] = ide.prompts();
  await served.kill();
  const id = `acp:devin:${kept?.sessionId ?? ""}`;
  const listed = await millrace(["cascades", "list", "--json"], { home });
  expect(JSON.parse(listed.stdout)).toMatchObject({ sessions: [{ session_id: id }] });
  const cleaned = await millrace(["cascades", "clean", "--older", "0", "--yes"], { home });
  expect([cleaned.code, cleaned.stdout]).toEqual([0, expect.stringContaining("1 session of agents")]);
  expect(ide.agentReport().deletes).toEqual([kept?.sessionId]);
  const after = await millrace(["cascades", "list", "--json"], { home });
  expect(JSON.parse(after.stdout)).toMatchObject({ sessions: [] });
});

/** The text of a stream of Chat Completions. */
function contentOf(stream: string): string {
  return [...stream.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, json = ""]) => JSON.parse(json) as { choices: { delta?: { content?: string } }[] })
    .map(({ choices }) => choices[0]?.delta?.content ?? "")
    .join("");
}

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
