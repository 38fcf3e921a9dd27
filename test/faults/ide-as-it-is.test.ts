import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ask, collect, gateway, openai, simulator, world } from "../support/world.ts";

const look = { tools: 2, toolText: "Let me look." };

/** By typed steps, and by the transcript of a build without them. */
const ways = [
  ["typed steps", []],
  ["the transcript", ["GetCascadeTrajectorySteps"]],
] as const;

describe.each(ways)("over %s, a build that ignores the planner mode and reads", (_, missing) => {
  it("answers with all its texts, and the header, the page, the stream and the log name what it read", async () => {
    const { client, served } = await world({
      simulator: { missing: [...missing], turn: look },
      args: ["--log-level", "info"],
    });
    const whole = client.chat.completions.create(ask("echo: done"));
    const { data, response } = await whole.withResponse();
    const text = "Let me look.\n\nLet me look.\n\ndone";
    expect(data.choices[0]?.message.content).toBe(text);
    expect(data).toMatchObject({ millrace: { ide_tools: ["LIST_DIRECTORY"] } });
    expect(response.headers.get("x-millrace-ide")).toBe("devin");
    expect(response.headers.get("x-millrace-ide-tools")).toBe("LIST_DIRECTORY");

    const headers = { authorization: `Bearer ${served.key}` };
    const page = await fetch(`${served.url}/dashboard/api/turns/${response.headers.get("x-millrace-turn")}/summary`, {
      headers,
    });
    expect(await page.json()).toMatchObject({ outcome: "finished", ide_tools: ["LIST_DIRECTORY"] });

    const stream = await client.chat.completions.create({ ...ask("echo: again"), stream: true });
    const named: unknown[] = [];
    let streamed = "";
    for await (const chunk of stream) {
      streamed += chunk.choices[0]?.delta.content ?? "";
      if ("millrace" in chunk) named.push(chunk.millrace);
    }
    expect(streamed).toBe("Let me look.\n\nLet me look.\n\nagain");
    expect(named).toEqual([{ ide_tools: ["LIST_DIRECTORY"] }]);
    expect(served.log().match(/"LIST_DIRECTORY"\],"event":"the IDE's agent read"/g)).toHaveLength(2); // once for each turn
  });

  it("gives an empty answer where it only reads", async () => {
    const { client } = await world({ simulator: { missing: [...missing], turn: { toolOnly: true } } });
    const stream = await client.chat.completions.create({ ...ask("hi"), stream: true });
    expect(await collect(stream)).toEqual({ text: "", reason: "stop" });
  });

  it("fails under `--ide-tools stop`, and names the tool", async () => {
    const { client } = await world({
      simulator: { missing: [...missing], turn: look },
      args: ["--ide-tools", "stop"],
    });
    await expect(client.chat.completions.create(ask("echo: done"))).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/list_dir/i),
    });
  });
});

it("a command that waits for a decision stops the turn", async () => {
  const { client } = await world({ simulator: { turn: { waiting: true } } });
  await expect(client.chat.completions.create(ask("hi"))).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("RUN_COMMAND"),
  });
});

describe("over the transcript, an error step with its text", () => {
  it.each([
    ["system", "quota", 429, "insufficient_quota"],
    ["tool", "content_policy", 400, "invalid_request"],
  ] as const)("under a %s header is that error: %s", async (errorText, error, status, code) => {
    const { client } = await world({
      simulator: { missing: ["GetCascadeTrajectorySteps"], turn: { error, errorAt: "step", errorText } },
    });
    await expect(client.chat.completions.create(ask("hi"))).rejects.toMatchObject({ status, code });
  });

  it("an answer without any text is an error too", async () => {
    const { client } = await world({ simulator: { turn: { empty: true } } });
    await expect(client.chat.completions.create(ask("hi"))).rejects.toMatchObject({ status: 400 });
  });
});

describe("a server's process with other ports", () => {
  it("that are asked first is found in the same request", async () => {
    const { client, ide } = await world({
      simulator: { decoys: ["html", "json", "not-found", "lsp", "closing"] },
    });
    const { choices } = await client.chat.completions.create(ask("echo: found"));
    expect(choices[0]?.message.content).toBe("found");
    expect((await ide.report()).messages).toHaveLength(1);
  });

  it("that pass the probe and answer with a page later are dropped, and the next one answers the same request", async () => {
    const { client, ide, home } = await world({ simulator: { decoys: ["impostor"] } });
    const { choices } = await client.chat.completions.create(ask("echo: found"));
    expect(choices[0]?.message.content).toBe("found");
    expect((await ide.report()).messages).toHaveLength(1);
    expect(home).toBe(ide.home);
  });

  it("whose answer to the probe does not decode is asked over gRPC", async () => {
    const ide = await simulator({ faults: [{ rpc: "GetUnleashData", garbled: true }] });
    const served = await gateway({ home: ide.home });
    const { choices } = await openai(served).chat.completions.create(ask("echo: found"));
    expect(choices[0]?.message.content).toBe("found");
    const { contentTypes } = await ide.report();
    expect(Object.keys(contentTypes)).toEqual(["application/grpc+proto"]);
  });
});

describe("64 turns at once", () => {
  it.each([
    ["gRPC", true, "application/grpc+proto", 0],
    ["Connect over HTTP/1.1", false, "application/proto", expect.any(Number)], // the system decides which of its connections is read first
  ] as const)(
    "over %s: each is answered, and on one connection the request ids rise in the order of their arrival",
    async (_, http2, contentType, notRising) => {
      const turn = { rate: "instant", firstMs: 5, inputMs: 5 } as const;
      const { client, ide } = await world({ simulator: { http2, turn } });
      const numbers = Array.from({ length: 64 }, (_, index) => index);
      const answers = await Promise.all(numbers.map((n) => client.chat.completions.create(ask(`echo: ${n}`))));
      expect(answers.map(({ choices }) => choices[0]?.message.content)).toEqual(numbers.map(String));
      const { requestIds, messages, contentTypes } = await ide.report();
      expect(messages).toHaveLength(64);
      expect(Object.keys(contentTypes)).toContain(contentType);
      expect(new Set(messages.map(({ requestId }) => requestId)).size).toBe(64);
      expect(requestIds.notRising).toEqual(notRising);
    },
  );
});

it("every answer to a key names the IDE: of each API, of a list, of a refusal, of a failure before the prompt", async () => {
  const { served, ide } = await world();
  const messages = [{ role: "user", content: "echo: hi" }];
  const named = async (path: string, body?: object, key = served.key) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await fetch(`${served.url}${path}`, init);
    await answer.text();
    return [path, answer.status, answer.headers.get("x-millrace-ide")];
  };
  const chat = "/v1/chat/completions";
  const { model } = ask("");
  expect(await named(chat, { model: "no-such-model", messages })).toEqual([chat, 404, "devin"]);
  expect(await named(chat, { model })).toEqual([chat, 400, "devin"]);
  expect(await named("/v1/models")).toEqual(["/v1/models", 200, "devin"]);
  expect(await named("/nothing")).toEqual(["/nothing", 404, "devin"]);
  for (const [path, body] of [
    [chat, { model, messages }],
    [chat, { model, messages, stream: true }],
    ["/v1/responses", { model, input: "echo: hi" }],
    ["/v1/messages", { model, max_tokens: 99, messages }],
  ] as const)
    expect(await named(path, body)).toEqual([path, 200, "devin"]);
  await ide.setFaults([{ rpc: "StartCascade", error: { code: "internal", message: "no" } }]);
  expect(await named(chat, { model, messages: [{ role: "user", content: "echo: fails" }] })).toEqual([
    chat,
    502,
    "devin",
  ]);
  const attach = "/aiserver.v1.ChatService/StreamUnifiedChatWithToolsIdempotentSSE";
  expect(await named(attach, {})).toEqual([attach, expect.any(Number), "devin"]);
  expect(await named(chat, { model, messages }, "wrong")).toEqual([chat, 401, null]);
});

it("a conversation stays with its IDE when a newer one runs too", async () => {
  const apiKey = randomUUID();
  const { home, ide, client } = await world({ simulator: { apiKey } });
  const first = await client.chat.completions.create(ask("echo: one"));
  const newer = await simulator({ apiKey, home });
  // A lost connection makes the gateway look for IDEs again.
  await ide.setFaults([{ rpc: "StartCascade", dropAfterBytes: 0, times: 1 }]);
  const answer = first.choices[0]?.message.content ?? "";
  const messages = [...ask("echo: one").messages, { role: "assistant" as const, content: answer }];
  const { choices } = await client.chat.completions.create({
    model: ask("").model,
    messages: [...messages, { role: "user", content: "echo: two" }],
  });
  const other = await client.chat.completions.create(ask("echo: another conversation"));
  expect([choices[0]?.message.content, other.choices[0]?.message.content]).toEqual(["two", "another conversation"]);
  expect((await ide.report()).messages).toHaveLength(3);
  expect((await newer.report()).messages).toEqual([]);
});

it("of two windows, `--pid` names the one that gets the prompts", async () => {
  const apiKey = randomUUID(); // both windows belong to one account
  const first = await simulator({ apiKey });
  const second = await simulator({ apiKey, home: first.home });
  for (const [named, other] of [
    [first, second],
    [second, first],
  ] as const) {
    const before = (await other.report()).messages.length;
    const served = await gateway({ home: first.home, args: ["--pid", String(named.pid)] });
    const { choices } = await openai(served).chat.completions.create(ask("echo: mine"));
    expect(choices[0]?.message.content).toBe("mine");
    expect((await other.report()).messages).toHaveLength(before);
    await served.stop();
  }
});

describe("an IDE that `--pid` named and that restarted", () => {
  it("is not replaced by another product's agent: the error names the new process", async () => {
    const apiKey = randomUUID();
    const ide = await simulator({ apiKey });
    await simulator({ apiKey, profile: "devin-3", home: ide.home });
    const served = await gateway({ home: ide.home, args: ["--pid", String(ide.pid)] });
    const asked = () => openai(served).chat.completions.create(ask("echo: mine"));
    expect((await asked()).choices[0]?.message.content).toBe("mine");
    const before = ide.pid;
    await ide.restart({ crash: true });
    const words = new RegExp(`pid ${ide.pid}.*only pid ${before} was asked for.*without .--pid`, "s");
    const message = expect.stringMatching(words) as string;
    await expect(asked()).rejects.toMatchObject({ code: "ide_not_running", message });
  });

  it("keeps its own agent", async () => {
    const ide = await simulator({ profile: "devin-3" });
    const served = await gateway({ home: ide.home, args: ["--pid", String(ide.pid)] });
    const asked = () => openai(served).chat.completions.create({ ...ask("echo: mine"), model: "claude-sonnet-5" });
    expect((await asked()).choices[0]?.message.content).toBe("mine");
    await ide.restart({ crash: true });
    expect((await asked()).choices[0]?.message.content).toBe("mine");
  });
});

it("of two homes, `--home` names the IDE that gets the prompts", async () => {
  const first = await simulator();
  const second = await simulator();
  const served = await gateway({ home: first.home, args: ["--home", second.home] });
  const { choices } = await openai(served).chat.completions.create(ask("echo: mine"));
  expect(choices[0]?.message.content).toBe("mine");
  expect((await first.report()).messages).toEqual([]);
  expect((await second.report()).messages).toHaveLength(1);
});
