import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { lookAtHosts } from "../../src/backends/acp/host/hosts.ts";
import { processRuns } from "../../src/base/node/process-exists.ts";
import { millrace, spawnMillrace, withLimits } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { agentLoop, chatLoop } from "../support/tool-loop.ts";
import { patienceMs, simulator, world } from "../support/world.ts";

/*
 * No gateway lives inside another command: `chat`, `run` and the others use the one of the home, or start one in the background that ends
 * when it is idle.
 */

const fileOf = (home: string) => join(home, ".millrace/gateway.json");

interface Written {
  readonly url?: string;
  readonly pid: number;
  readonly startedBy: string;
}

const gatewayOf = (home: string) => JSON.parse(readFileSync(fileOf(home), "utf8")) as Written;

async function untilGone(home: string, pid: number): Promise<void> {
  await expect.poll(() => existsSync(fileOf(home)) || processRuns(pid), { timeout: patienceMs }).toBe(false);
}

test("chat starts a gateway in the background, and the next chat uses it", async () => {
  const { home, prompts } = await ideHome();
  const own = { home, env: { MILLRACE_PORT: "0" } }; // no other program may take the port between two gateways
  const first = await millrace(["chat", "count to 3"], own);
  expect(first).toMatchObject({ code: 0, stdout: "1, 2, 3\n", stderr: expect.not.stringContaining("error") });
  const started = gatewayOf(home);
  expect(started.startedBy).toBe("command");
  expect((await millrace(["chat", "count to 2"], own)).stdout).toBe("1, 2\n");
  expect(gatewayOf(home)).toEqual(started);
  const second = await millrace(["serve"], own);
  expect([second.code, second.stderr]).toEqual([73, expect.stringContaining(`(process ${started.pid}, started `)]);
  expect((await millrace(["restart"], own)).code).toBe(0);
  expect(gatewayOf(home).startedBy).toBe("background");
  expect((await millrace(["stop"], own)).code).toBe(0);
  expect(await prompts()).toBe(2);
});

test("a chat tells in JSON what it used, takes the default model of the configuration, and is found again by its words", async () => {
  const { home } = await ideHome();
  expect(await millrace(["config", "set", "model", "claude-haiku-4.5"], { home })).toMatchObject({ code: 0 });
  const { stdout } = await millrace(["chat", "--json", "count to 3"], { home });
  expect(JSON.parse(stdout)).toMatchObject({
    model: "claude-haiku-4.5",
    answer: "1, 2, 3",
    turn: expect.stringMatching(/^turn_/),
    credits: 1,
    tokens: { in: expect.any(Number), out: expect.any(Number) },
  });
  const { turn } = JSON.parse(stdout) as { readonly turn: string };
  const changed = await millrace(["config", "set", "model", "gpt-5.5"], { home });
  expect(changed.stderr).toContain("use it at once");
  expect(JSON.parse((await millrace(["chat", "--json", "hello"], { home })).stdout)).toMatchObject({
    model: expect.stringMatching(/^gpt-5\.5/),
  });
  const opus = await millrace(["chat", "--json", "-m", "opus", "hello"], { home });
  expect(JSON.parse(opus.stdout)).toMatchObject({ model: "claude-opus-4.7:medium" });
  const found = await millrace(["tail", "--search", "2, 3"], { home });
  expect(found).toMatchObject({ code: 0, stderr: "Searched 3 turns.\n" });
  expect(found.stdout.split("\n")[1]).toMatch(new RegExp(`^${turn.slice(-8)} `));
  await millrace(["stop"], { home });
});

test("chats that are started at once share one gateway", async () => {
  const { home, prompts } = await ideHome();
  const chats = await Promise.all([1, 2, 3].map(() => millrace(["chat", "count to 3"], { home })));
  for (const chat of chats)
    expect(chat).toMatchObject({ code: 0, stdout: "1, 2, 3\n", stderr: expect.not.stringContaining("error") });
  expect(await prompts()).toBe(3);
  const { pid } = gatewayOf(home);
  expect(await millrace(["stop"], { home })).toMatchObject({ code: 0, stdout: expect.stringContaining(`${pid}`) });
  expect(await millrace(["stop"], { home })).toMatchObject({ code: 0, stdout: "No gateway runs.\n" });
});

test("a gateway that is idle after a moment loses no question of the chats that come", async () => {
  const { home, prompts } = await ideHome();
  const always = { home, ...withLimits({ idleMs: 500 }) };
  for (let nth = 1; nth <= 3; nth++)
    expect(await millrace(["chat", `count to ${nth}`], always)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`${nth}`),
    });
  expect(await prompts()).toBe(3);
});

test("a prompt that waits for its client's results keeps the gateway, and its end does not", async () => {
  const { model, tool, question, text } = agentLoop;
  const simulated = { profile: "devin-3", turn: { rate: "instant" } } as const;
  const idleMs = 2_000; // a busy machine may take that long from one request to the next
  const limits = withLimits({ idleMs });
  const env = { ...limits.env, MILLRACE_STARTED_BY: "command" };
  const { home, ide, served } = await world({ ...limits, env, simulator: simulated });
  const asked = { role: "user", content: question };
  const first = await chatLoop.ask(served, model, [asked], tool);
  const agents = join(home, ".millrace/agents");
  const waitsUntilMs = performance.now() + 2 * idleMs;
  await expect.poll(() => lookAtHosts(agents)).toMatchObject([{ running: 1 }]);
  while (performance.now() < waitsUntilMs) {
    await lookAtHosts(agents); // a host that is busy may not answer each look
    expect(processRuns(served.pid)).toBe(true);
  }
  const results = chatLoop.results(first.calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
  const history = [asked, ...first.messages, ...results];
  const second = await chatLoop.ask(served, model, history, tool);
  const last = chatLoop.results(second.calls.map(({ id }) => ({ id, text: "r3" })));
  const end = await chatLoop.ask(served, model, [...history, ...second.messages, ...last], tool);
  expect(end.text).toBe(text);
  await untilGone(home, served.pid);
  expect(ide.prompts()).toHaveLength(1);
});

test("a gateway that a person started does not end by itself", async () => {
  const { home, served } = await world(withLimits({ idleMs: 500 }));
  expect((await millrace(["chat", "count to 3"], { home })).code).toBe(0);
  await millrace(["chat", "count to 3"], { home });
  expect(gatewayOf(home).pid).toBe(served.pid);
});

test("a gateway has the options of the command that starts it, refuses other ones, and stays once the user asks for one in the background", async () => {
  const { home } = await ideHome();
  expect((await millrace(["chat", "--grace", "7m", "count to 3"], { home })).code).toBe(0);
  const { pid, url, startedBy } = gatewayOf(home);
  expect(startedBy).toBe("command");
  expect(gatewayOf(home)).toMatchObject({ options: { grace: "7m" } });
  const refused = await millrace(["chat", "--ide", "devin-next", "Hello"], { home });
  expect([refused.code, refused.stderr]).toEqual([64, expect.stringContaining("millrace restart --ide devin-next")]);
  const stays = await millrace(["serve", "--background"], { home });
  expect([stays.code, stays.stdout]).toEqual([0, `Your gateway at ${url} stays now. \`millrace stop\` stops it.\n`]);
  expect(gatewayOf(home)).toMatchObject({ pid, startedBy: "background" });
  const again = await millrace(["serve", "--background"], { home });
  expect([again.code, again.stderr]).toEqual([73, expect.stringContaining("already serves")]);
});

test("a gateway that cannot start fails the command with its own reason and exit code, also as JSON", async () => {
  const { home } = await ideHome();
  mkdirSync(join(home, ".millrace/key"), { recursive: true });
  const told = await millrace(["chat", "Hello"], { home });
  expect([told.code, told.stdout]).toEqual([73, ""]);
  expect(told.stderr).toMatch(/^error: The key file .* cannot be used: .*\nhint: /m);
  const { code, stdout } = await millrace(["chat", "--json", "Hello"], { home });
  expect([code, JSON.parse(stdout)]).toMatchObject([73, { error: { code: "degraded" } }]);
});

test.skipIf(process.platform === "win32")("Ctrl-C while the gateway starts leaves nothing", async () => {
  const { home, prompts } = await ideHome();
  const chat = spawnMillrace(["chat", "Hello"], { home });
  const ended = once(chat, "close");
  await expect.poll(() => existsSync(fileOf(home)), { interval: 5, timeout: patienceMs }).toBe(true);
  const { pid } = gatewayOf(home);
  chat.kill("SIGINT");
  expect(await ended).toEqual([130, null]);
  await untilGone(home, pid);
  expect(await prompts()).toBe(0);
});

test.skipIf(process.platform === "win32")(
  "run keeps the gateway that it starts as long as its client lives",
  async () => {
    const { home } = await ideHome();
    const bin = join(home, "bin");
    mkdirSync(bin);
    const script =
      "exec node -e 'fetch(process.env.ANTHROPIC_BASE_URL + \"/health\").then(({ status }) => console.log(status))'";
    writeFileSync(join(bin, "claude"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, "claude"), 0o755);
    const env = { PATH: [bin, join(process.execPath, ".."), process.env["PATH"] ?? ""].join(delimiter) };
    expect(await millrace(["run", "claude-code"], { home, env })).toMatchObject({ code: 0, stdout: "200\n" });
    expect(gatewayOf(home).startedBy).toBe("command");
  },
);

/** A home with a stand-in IDE, and the number of prompts that it got. */
async function ideHome() {
  const home = temporaryHome();
  const ide = await simulator({ home });
  return { home, prompts: async () => (await ide.report()).messages.length };
}
