import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import type { AgentChild } from "../wire/agent-child.ts";
import { AgentStarter, untilSlow } from "./agent-starter.ts";

/** How long an agent is waited for that writes at these times; ms. */
async function waited(heardAtMs: readonly number[]): Promise<{ readonly ms: number; readonly message: string }> {
  const clock = new FakeClock();
  const heardMs = () => Math.max(0, ...heardAtMs.filter((ms) => ms <= clock.monotonic()));
  const agent = { name: "played", heardMs, method: () => "initialize" };
  const slow = untilSlow(agent, clock, new AbortController().signal);
  const atMs = slow.then(() => clock.monotonic());
  await clock.advance(120_000);
  return { ms: await atMs, message: (await slow).message };
}

test("an agent that starts is waited for as long as it writes something every ten seconds, and a minute at most", async () => {
  const silent = await waited([]);
  const once = await waited([9_000]);
  const always = await waited(Array.from({ length: 100 }, (_, n) => n * 5_000));
  expect([silent.ms, once.ms, always.ms]).toEqual([10_000, 19_000, 60_000]);
  expect(silent.message).not.toBe(always.message);
});

/** Starts an agent that answers `initialize` so; its error, and how often its process was ended. */
async function started(answer: object | "exit" | "stop") {
  const folder = mkdtempSync(join(tmpdir(), "millrace-starter-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = new FakeClock();
  const stop = new AbortController();
  const exited = Promise.withResolvers<string>();
  let ends = 0;
  let hear: (text: string) => void = () => {};
  const child: AgentChild = {
    pid: 1,
    heardMs: 0,
    exited: exited.promise,
    onText: (listener) => (hear = listener),
    write(text) {
      const { id } = JSON.parse(text) as { readonly id: number };
      if (answer === "exit") exited.resolve("exit code 1");
      else if (answer === "stop") stop.abort(new Error("stopped"));
      else hear(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
    },
    caughtUp: async () => {},
    errorTail: () => Array.from({ length: 8 }, (_, n) => `line ${n}`).join("\n"),
    end: async () => void ends++,
    rssBytes: async () => undefined,
  };
  const spec = {
    name: "played",
    ide: "p",
    vendor: "other",
    command: "opencode",
    args: [],
    environment: {},
    folder,
  } as const;
  const starter = new AgentStarter(spec, { clock, startChild: async () => child, hosts: undefined });
  const launch = { key: "k", args: [], style: "ask" } as const;
  const error = await starter.start(launch, () => {}, stop.signal).catch((reason: unknown) => reason);
  return { error, ends };
}

test.each([
  [
    "refuses to begin",
    { error: { code: -32603, message: "No." } },
    { code: "upstream_failed", message: expect.stringContaining("No.") },
  ],
  [
    "is another program than its command",
    { result: { agentInfo: { name: "Other", version: "1" } } },
    { code: "model_not_allowed" },
  ],
  ["ends", "exit", { details: { standardError: ["line 3", "line 4", "line 5", "line 6", "line 7"] } }],
  ["is waited for no longer", "stop", { message: "stopped" }],
] as const)(
  "the process of an agent that %s at its start is ended, and the reason is told",
  async (_, answer, told) => {
    const { error, ends } = await started(answer);
    expect(error).toMatchObject(told);
    expect(ends).toBe(1);
  },
);
