import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, model, openai, patience, simulator } from "../support/world.ts";

interface Case {
  readonly name: string;
  readonly path: string;
  readonly body: object;
  /** The last event of the stream that the stopping gateway ends. */
  readonly error: RegExp;
}

const messages = [{ role: "user", content: "write" }];
const chat = { path: "/v1/chat/completions", body: { model, messages, stream: true } };

/** What each API's clients take for an error that passes. Source: docs/clients.md, "After a failure". */
const cases: readonly Case[] = [
  { name: "chat completions", ...chat, error: /data: \{"error":\{.*"type":"server_error".*"code":"unavailable"/ },
  {
    name: "messages",
    path: "/v1/messages",
    body: { model, messages, max_tokens: 9_000, stream: true },
    error: /event: error\n.*\ndata: \{"type":"error","error":\{"type":"overloaded_error"/,
  },
];

describe("a gateway that is stopped in the middle of answers", () => {
  test.each(cases)("tells $name, whose repeat finds its turn at the next gateway", async (asked) => {
    const home = temporaryHome();
    const answer = { rate: 4_000, size: 1_500 };
    const ide = await simulator({ home, turn: { ...answer, holdAfter: 700 } });
    const first = await gateway({ home, args: ["--continuity", "off"] });
    const open = await post(first, asked);
    const text = await told(open, () => process.kill(first.pid, "SIGTERM"));
    expect(text).toMatch(asked.error);
    expect(text).not.toMatch(/"finish_reason":"stop"|message_stop/);
    await first.ended;

    const second = await gateway({ home, args: ["--continuity", "off"] });
    await ide.setTurn(answer);
    await ide.release();
    const again = await post(second, asked);
    expect(again.headers.get("x-millrace-turn")).toBe(open.headers.get("x-millrace-turn"));
    expect(again.headers.get("x-millrace-joined")).toBe("implicit");
    expect(await again.text()).toMatch(/"finish_reason":"stop"|message_stop/);
    expect((await ide.report()).messages).toHaveLength(1);
  });
});

const question = { model: "swe-2:high", messages, stream: true };
const devin = { profile: "devin-3" } as const;

test.runIf(process.platform !== "win32").each([
  { name: "an agent in its host goes on", options: devin, body: question, home: "usual", goesOn: true },
  {
    name: "also below a path that is too long for sockets",
    options: devin,
    body: question,
    home: "long",
    goesOn: true,
  },
  { name: "an agent without a host ends", options: devin, body: question, home: "hostless", goesOn: false },
  {
    name: "raw chat ends",
    options: { profile: "windsurf-1.8" },
    body: chat.body,
    home: "usual",
    goesOn: false,
  },
] as const)(
  "with a gateway that is stopped in the middle of an answer, $name, and the client is told so",
  async (the) => {
    const home = temporaryHome();
    const answer = { rate: 4_000, size: 1_500 };
    const ide = await simulator({ ...the.options, home, turn: { ...answer, holdAfter: 700 } });
    const folder = join(home, the.home === "long" ? "too-long-for-a-socket".repeat(5) : ".millrace");
    if (the.home === "hostless") {
      mkdirSync(folder, { mode: 0o700 });
      writeFileSync(join(folder, "agents"), ""); // no folder for hosts can be made
    }
    const started = { home, args: ["--continuity", "off"], env: { MILLRACE_HOME: folder } };
    const first = await gateway(started);
    const asked = { path: chat.path, body: the.body, headers: { "idempotency-key": "once" } };
    const open = await post(first, asked);
    const text = await told(open, () => process.kill(first.pid, "SIGTERM"));
    expect(text).toMatch(
      the.goesOn ? /The turn continues when the gateway is back/ : /this answer cannot be continued/,
    );
    expect(text).not.toContain('"finish_reason":"stop"');
    await first.ended;
    expect(first.log().includes("agent_hostless")).toBe(the.home === "hostless");

    const second = await gateway(started);
    await ide.setTurn(answer);
    await ide.release();
    const again = await post(second, asked);
    expect(again.headers.get("x-millrace-turn")).toBe(open.headers.get("x-millrace-turn"));
    expect(await told(again)).toMatch(
      the.goesOn ? /"finish_reason":"stop"/ : /this answer cannot be continued.*new one/,
    );
    const prompts = the.options === devin ? ide.prompts().length : 1; // the stand-in does not tell those of raw chat from probes
    expect(prompts).toBe(1);
  },
);

test("a gateway that stops answers a waiting client with a 503 that the SDK repeats by itself", async () => {
  const home = temporaryHome();
  const answer = { rate: 4_000, size: 1_500 };
  const ide = await simulator({ home, turn: { ...answer, holdAfter: 700 } });
  const first = await gateway({ home, args: ["--continuity", "off"] });
  const failed = openai(first)
    .chat.completions.create(ask("write"))
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  await ide.until(({ messages: sent }) => sent.length === 1, patience());
  process.kill(first.pid, "SIGTERM");
  const error = (await failed) as { readonly status: number; readonly headers: Headers };
  expect(error.status).toBe(503);
  expect([error.headers.get("retry-after"), error.headers.get("x-should-retry")]).toEqual(["1", "true"]);
});

test.runIf(process.platform !== "win32")(
  "SIGHUP ends no gateway that has no terminal, and breaks no stream",
  async () => {
    const home = temporaryHome();
    await simulator({ home, turn: { rate: 400, size: 900 } });
    const served = await gateway({ home });
    const chatOnly = { name: "chat", ...chat, error: /./ };
    const text = await told(await post(served, chatOnly), () => process.kill(served.pid, "SIGHUP"));
    expect(text.trimEnd()).toMatch(/data: \[DONE\]$/);
    expect((await fetch(`${served.url}/health`)).status).toBe(200);
  },
);

test.runIf(process.platform !== "win32")(
  "a stop that arrives twice, from the terminal's group and from npm, is one orderly stop",
  async () => {
    const home = temporaryHome();
    await simulator({ home, turn: { rate: 4_000, size: 1_500, holdAfter: 700 } });
    const served = await gateway({ home });
    const open = await post(served, chat);
    const text = await told(open, () => {
      process.kill(served.pid, "SIGINT");
      process.kill(served.pid, "SIGTERM");
    });
    expect(text).toMatch(/"code":"unavailable"/);
    await served.ended;
    expect(await served.stop()).toBe(0);
  },
);

test("several stops at once end one gateway, and each says so", async () => {
  const home = temporaryHome();
  const served = await gateway({ home });
  const stops = await Promise.all([1, 2, 3, 4].map(() => millrace(["stop"], { home })));
  await served.ended;
  for (const { code, stdout, stderr } of stops) {
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/has stopped|No gateway runs/);
  }
  expect(stops.some(({ stdout }) => stdout.includes("has stopped"))).toBe(true);
});

test("`config set` says how the running gateway takes a setting over", async () => {
  const home = temporaryHome();
  await simulator({ home });
  const served = await gateway({ home, env: { MILLRACE_STARTED_BY: "background" } });
  const note = async (...setting: readonly string[]) =>
    (await millrace(["config", "set", ...setting], { home })).stderr.replaceAll(/\s+/g, " ");
  expect(await note("serve.grace", "10m")).toContain("uses the new value after `millrace restart`.");
  await served.stop();
  expect(await note("serve.max_turns")).toContain("No gateway runs. Its next start uses the new value.");
});

function post(
  { url, key }: { readonly url: string; readonly key: string },
  { path, body, headers = {} }: Pick<Case, "path" | "body"> & { readonly headers?: Readonly<Record<string, string>> },
) {
  return fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** The whole text of a stream; `begun` is called at its first piece of the answer. */
async function told(response: Response, begun: () => void = () => {}): Promise<string> {
  let text = "";
  let isBegun = false;
  const decoder = new TextDecoder();
  try {
    for await (const piece of response.body ?? []) {
      text += decoder.decode(piece, { stream: true });
      if (isBegun || text.length < 2_000) continue;
      isBegun = true;
      begun();
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // a broken stream ends by a cut
  }
  return text;
}
