import { copyFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listening, temporaryFolder } from "../../test/support/temporary.ts";
import { FakeClock } from "../base/clock.fake.ts";
import { systemClock } from "../base/clock.ts";
import { challengeHeader, gatewayProof, proofHeader } from "../base/node/gateway-proof.ts";
import { Secret } from "../base/secret.ts";
import { until } from "../base/wait.fake.ts";
import { limitsSchema } from "../usage/envelope.ts";
import type { OpenCodeConfig, PluginInput, Toast } from "./hooks.ts";
import { modelConfigs } from "./model-config.ts";
import { openPlugin } from "./open-plugin.ts";
import { lowWindows, parseQuota, quotaText } from "./quota.ts";

const models = {
  data: [
    {
      id: "claude-x",
      display_name: "Claude X",
      context_length: 200_000,
      max_output_tokens: 64_000,
      modalities: { input: ["text", "image"], output: ["text"] },
    },
    { id: "claude-x:high", display_name: "Claude X High" },
    { id: "claude-x:low" },
    { id: "gpt-y:high", context_length: 1_000 },
    { id: "plain" },
  ],
};

const window = {
  id: "daily",
  label: "Daily quota",
  unit: "percent",
  state: "metered",
  used: 95,
  limit: 100,
  remaining: 5,
  utilization: 0.95,
  resets_at: "2026-01-02T00:00:00Z",
} as const;
const limits = {
  data: [{ ide: "windsurf", plan_name: "Pro", fetched_at: "2026-01-01T00:00:00Z", stale: false, windows: [window] }],
  errors: [],
};

/** A server that answers as a gateway does, and its home folder. */
async function fakeGateway(
  options: { readonly knowsKey?: boolean; readonly models?: object; readonly silentFor?: number } = {},
) {
  let silent = options.silentFor ?? 0;
  const asked: { readonly path: string; readonly key: string | undefined; readonly headers: unknown }[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push({ path, key: request.headers.authorization, headers: request.headers });
    const body = path === "/health" ? { status: "ok" } : path === "/v1/models" ? (options.models ?? models) : limits;
    if (silent-- > 0) return; // as a process that gets no time
    const failed = "error" in body;
    const key = new Secret(options.knowsKey === false ? "another key" : "mr_secret");
    const proof = gatewayProof(key, String(request.headers[challengeHeader]), { port, instance: "one" });
    response
      .writeHead(failed ? 503 : 200, { "content-type": "application/json", [proofHeader]: proof })
      .end(JSON.stringify(body));
  });
  const port = await listening(server);
  const url = `http://127.0.0.1:${port}`;
  const folder = temporaryFolder();
  writeFileSync(join(folder, "gateway.json"), JSON.stringify({ url, instance: "one" }));
  writeFileSync(join(folder, "key"), "mr_secret\n", { mode: 0o600 });
  return { url, folder, asked };
}

function plugged(folder: string, handshakeMs?: number) {
  const toasts: Toast[] = [];
  const clock = new FakeClock();
  const input: PluginInput = {
    worktree: "/home/me/my project",
    directory: "/home/me/my project",
    client: {
      tui: { showToast: ({ body }) => Promise.resolve(toasts.push(body)) },
      app: { log: () => Promise.resolve() },
    },
  };
  // a PATH without Node: nothing is ever started from here
  return {
    input,
    toasts,
    clock,
    hooks: openPlugin(input, {
      folder,
      keyFile: undefined,
      env: { PATH: "" },
      clock,
      ...(handshakeMs === undefined ? {} : { handshakeMs }),
    }),
  };
}

describe("the OpenCode plugin", () => {
  it("reads every unit and state of the gateway's schema, and those of a newer one", () => {
    const { unit, state } = limitsSchema.shape.data.element.shape.windows.element.shape;
    const windows = [...unit.options, "tokens"].flatMap((each) =>
      [...state.options, "paused"].map((of) => ({ ...window, id: `${each} ${of}`, unit: each, state: of })),
    );
    const quota = parseQuota({ ...limits, data: [{ ...limits.data[0], windows }] });
    expect(quotaText(quota)).toContain("95 messages of 100 messages used");
    expect(lowWindows(quota)).toHaveLength(unit.options.length + 1);
  });

  it("has one export, as OpenCode wants it", async () => {
    const module: Readonly<Record<string, unknown>> = await import("./plugin.ts");
    expect(Object.keys(module)).toEqual(["default"]);
    expect(module["default"]).toMatchObject({ id: "millrace", server: expect.any(Function) });
  });

  it("adds a provider with the live models", async () => {
    const { folder } = await fakeGateway();
    const config: OpenCodeConfig = {};
    await plugged(folder).hooks.config(config);
    expect(config.provider?.["millrace"]).toMatchObject({
      npm: "@ai-sdk/openai-compatible",
      models: { "claude-x": { name: "Claude X" } },
    });
    expect(JSON.stringify(config)).not.toContain("mr_secret");
  });

  it("adds the model that the user chose, where the list does not have it: a short name, which the gateway resolves", async () => {
    const { folder } = await fakeGateway();
    const modelsWith = async (model: string) => {
      const config: OpenCodeConfig = { model };
      await plugged(folder).hooks.config(config);
      return config.provider?.["millrace"]?.models;
    };
    expect(await modelsWith("millrace/claude-sonnet")).toMatchObject({ "claude-sonnet": {}, "claude-x": {} });
    expect(await modelsWith("millrace/claude-x")).toMatchObject({ "claude-x": { name: "Claude X" } });
    expect(await modelsWith("other/claude-y")).not.toHaveProperty("claude-y");
    for (const args of [["-m", "millrace/gpt-y:low"], ["--model=millrace/gpt-y:low"]]) {
      const { input, clock } = plugged(folder);
      const config: OpenCodeConfig = {};
      await openPlugin(input, { folder, keyFile: undefined, env: { PATH: "" }, clock, args }).config(config);
      expect(config.provider?.["millrace"]?.models).toMatchObject({ "gpt-y:low": {}, "gpt-y": {} });
    }
  });

  it("lets the user's own settings win", async () => {
    const { folder } = await fakeGateway();
    const config: OpenCodeConfig = {
      provider: {
        millrace: { name: "Mine", options: { timeout: 5 }, models: { plain: { name: "Plainer" } } },
        other: { name: "Other" },
      },
    };
    await plugged(folder).hooks.config(config);
    expect(config.provider?.["other"]).toEqual({ name: "Other" });
    expect(config.provider?.["millrace"]).toMatchObject({
      name: "Mine",
      options: { timeout: 5 },
      models: { plain: { name: "Plainer", tool_call: true }, "claude-x": {} },
    });
  });

  it("asks its own gateway with its own key, though a project's configuration names another address", async () => {
    const { folder, asked } = await fakeGateway();
    const config: OpenCodeConfig = {
      provider: { millrace: { options: { baseURL: "https://other.example/v1", apiKey: "theirs" } } },
    };
    await plugged(folder).hooks.config(config);
    await requestOf(config)("https://other.example/v1/chat/completions", { method: "POST", body: "{}" });
    expect(config.provider?.["millrace"]?.options).not.toMatchObject({ baseURL: expect.stringContaining("example") });
    expect(asked.at(-1)).toMatchObject({ path: "/v1/chat/completions", key: "Bearer mr_secret" });
  });

  it("sends each request to the gateway that runs then, though it has another address by now", async () => {
    const [first, second] = [await fakeGateway(), await fakeGateway()];
    const config: OpenCodeConfig = {};
    await plugged(first.folder).hooks.config(config);
    copyFileSync(join(second.folder, "gateway.json"), join(first.folder, "gateway.json"));
    const answer = await requestOf(config)("http://127.0.0.1/v1/chat/completions?a=b", { method: "POST", body: "{}" });
    expect(answer.status).toBe(200);
    expect(second.asked.at(-1)).toMatchObject({ path: "/v1/chat/completions?a=b", key: "Bearer mr_secret" });
  });

  it("offers the models that the user chose where no gateway can start, so that no prompt goes to another vendor, and answers with the program's own reason", async () => {
    const { folder } = await fakeGateway();
    writeFileSync(join(folder, "gateway.json"), "{}");
    const program = '#!/bin/sh\nprintf "%3000s\\n" . >&2\necho "Millrace needs Node 22.13 or newer." >&2\nexit 69\n';
    writeFileSync(join(folder, "node"), program, { mode: 0o755 });
    const config: OpenCodeConfig = { model: "millrace/gpt-y", small_model: "millrace/plain" };
    const { input } = plugged(folder);
    const env = { PATH: `${folder}:/usr/bin:/bin` };
    await openPlugin(input, { folder, keyFile: undefined, env, clock: systemClock }).config(config);
    expect(Object.keys(config.provider?.["millrace"]?.models ?? {})).toEqual(["gpt-y", "plain"]);
    const answer = await requestOf(config)("http://127.0.0.1/v1/chat/completions", { method: "POST", body: "{}" });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(await answer.json())).toContain("did not start: Millrace needs Node 22.13 or newer.");
  });

  it("starts no gateway after `millrace stop` until its user sends a message", async () => {
    const { folder } = await fakeGateway();
    const config: OpenCodeConfig = { model: "millrace/plain" };
    const { hooks, clock } = plugged(folder);
    await hooks.config(config);
    writeFileSync(join(folder, "gateway.json"), "{}");
    await clock.advance(1_000);
    writeFileSync(join(folder, "stopped"), new Date(clock.now()).toISOString());
    const send = async () => {
      const sent = requestOf(config)("http://127.0.0.1/v1/chat/completions", { method: "POST", body: "{}" });
      const answer = await withTime(clock, sent);
      return JSON.stringify(await answer.json());
    };
    expect(await send()).toContain("`millrace stop` stopped the gateway. Send a new message");
    await clock.advance(1_000);
    await hooks["chat.message"]();
    expect(await send()).toContain("did not start"); // it was tried
  });

  it("starts no gateway to look at the quota", async () => {
    const { folder } = await fakeGateway();
    writeFileSync(join(folder, "gateway.json"), "{}");
    const { hooks, toasts } = plugged(folder);
    await hooks.event({ event: { type: "session.idle" } });
    expect(toasts).toEqual([]);
  });

  it("gives its key to no program that cannot prove that it knows the key", async () => {
    const { folder, asked } = await fakeGateway({ knowsKey: false });
    const config: OpenCodeConfig = {};
    const { hooks, clock, toasts } = plugged(folder);
    const done = hooks.config(config);
    await untilAsked(asked);
    await until(() => clock.sleeping !== 0);
    await clock.advance(30_000);
    await done;
    expect(asked.every(({ path, key }) => path === "/health" && key === undefined)).toBe(true);
    expect(config.provider?.["millrace"]?.models).toEqual({});
    await new Promise((resolve) => setImmediate(resolve));
    expect(toasts[0]?.message).toContain("did not start");
    expect(toasts[0]?.message).toContain("Another program answers on its port. It got no key.");
  });

  it("waits for a gateway that is slow to answer, and starts no second one", async () => {
    const { folder } = await fakeGateway({ silentFor: 2 });
    const config: OpenCodeConfig = {};
    const { hooks, clock, toasts } = plugged(folder, 300);
    await withTime(clock, hooks.config(config));
    expect(config.provider?.["millrace"]).toBeDefined();
    expect(toasts).toEqual([]);
  });

  it("asks the gateway each minute, so that it does not end while OpenCode is idle", async () => {
    const { folder, asked } = await fakeGateway();
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { hooks } = plugged(folder);
    await hooks.config({});
    const before = asked.length;
    vi.advanceTimersByTime(60_000);
    await expect.poll(() => asked.slice(before)).toMatchObject([{ path: "/health", key: undefined }]);
  });

  it("says what the gateway says when it has no models", async () => {
    const { folder } = await fakeGateway({ models: { error: { message: "Windsurf is not running." } } });
    const config: OpenCodeConfig = {};
    const { hooks, toasts } = plugged(folder);
    await hooks.config(config);
    expect(config.provider?.["millrace"]?.models).toEqual({});
    await new Promise((resolve) => setImmediate(resolve));
    expect(toasts).toMatchObject([{ message: "Windsurf is not running.", variant: "warning" }]);
  });

  it("warns once when quota runs low, and asks seldom", async () => {
    const { folder, asked } = await fakeGateway();
    const { hooks, toasts, clock } = plugged(folder);
    const idle = () => hooks.event({ event: { type: "session.idle" } });
    await hooks.event({ event: { type: "message.updated" } });
    await idle();
    await idle();
    await clock.advance(6 * 60_000);
    await idle();
    expect(asked.filter(({ path }) => path === "/v1/limits")).toHaveLength(2);
    expect(toasts.map(({ message }) => message)).toEqual([
      "Daily quota is running low: 95 % of 100 % used, 5 % left, resets at 2026-01-02T00:00:00Z",
    ]);
  });

  it("logs in without a pasted key, shows the quota as a tool, and names the project of its requests", async () => {
    const { folder } = await fakeGateway();
    const { hooks } = plugged(folder);
    expect(hooks.auth.methods[0]?.prompts).toEqual([]);
    expect(await hooks.auth.methods[0]?.authorize()).toEqual({ type: "success", key: "in-the-request" });
    const { signal: abort } = new AbortController();
    expect(await hooks.tool["millrace_quota"]?.execute({}, { abort })).toContain("windsurf, plan Pro");
    const headers: Record<string, string> = {};
    await hooks["chat.headers"]({ model: { providerID: "another" } }, { headers });
    expect(headers).toEqual({});
    await hooks["chat.headers"]({ model: { providerID: "millrace" } }, { headers });
    expect(headers).toEqual({ "x-millrace-project": "my project" });
  });
});

describe("modelConfigs", () => {
  it("makes one model of its efforts, and invents no limits", () => {
    const configs = modelConfigs(models);
    expect(Object.keys(configs)).toEqual(["claude-x", "gpt-y", "plain"]);
    expect(configs["claude-x"]).toEqual({
      name: "Claude X",
      tool_call: true,
      attachment: true,
      reasoning: true,
      modalities: { input: ["text", "image"], output: ["text"] },
      limit: { context: 200_000, output: 64_000 },
      variants: { high: { reasoningEffort: "high" }, low: { reasoningEffort: "low" } },
    });
    expect(configs["gpt-y"]).toMatchObject({
      name: "gpt-y",
      limit: { context: 1_000, output: 1_000 },
      variants: { high: { reasoningEffort: "high" } },
    });
    expect(configs["plain"]).toEqual({ name: "plain", tool_call: true, attachment: false, reasoning: false });
  });
});

describe("the quota in words", () => {
  it("says what is unknown or unlimited as such", () => {
    const told = (state: "unlimited" | "unknown") => {
      const [data] = limits.data;
      return quotaText(
        parseQuota({ ...limits, data: [{ ...data, windows: [{ ...window, state, utilization: null }] }] }),
      );
    };
    expect(told("unlimited")).toContain("Daily quota: unlimited");
    expect(told("unknown")).toContain("Daily quota: unknown");
    expect(quotaText({ data: [], errors: [] })).toBe("No IDE reports its limits.");
  });

  it("counts a metered window as low from nine tenths on", () => {
    const [data] = limits.data;
    const quota = {
      ...limits,
      data: [
        {
          ...data,
          windows: [
            { ...window, utilization: 0.899 },
            { ...window, id: "w", state: "unknown", utilization: 1 },
            { ...window, label: "Low", utilization: 0.9 },
            { ...window, label: "Gone", utilization: 1 },
          ],
        },
      ],
    };
    expect(lowWindows(parseQuota(quota)).map(({ text }) => text.split(":")[0])).toEqual([
      "Low is running low",
      "Gone is used up",
    ]);
  });
});

/** How OpenCode's SDK sends its requests for our models. */
function requestOf(config: OpenCodeConfig): (url: string, init: RequestInit) => Promise<Response> {
  return config.provider?.["millrace"]?.options?.["fetch"] as (url: string, init: RequestInit) => Promise<Response>; // set by the plugin
}

/** Lets the clock run while something is awaited that sleeps. */
async function withTime<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const done = work.finally(() => over.abort());
  while (!over.signal.aborted) {
    await new Promise((resolve) => setImmediate(resolve));
    if (clock.sleeping > 0) await clock.advance(100); // as often as it looks: on a busy machine more than twice
  }
  return await done;
}

async function untilAsked(asked: readonly unknown[]): Promise<void> {
  await until(() => asked.length !== 0);
}
