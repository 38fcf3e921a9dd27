import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import { orAborted } from "../../../base/async.ts";
import type { ModelUid } from "../../../base/ids.ts";
import { processRuns } from "../../../base/node/process-exists.ts";
import { Secret } from "../../../base/secret.ts";
import { eventsOf, type Prompt } from "../../backend.ts";
import type { AcpAgent } from "../agent.ts";
import { spawnChild, spawnRelayedChild } from "../host/spawn-child.ts";
import { ScriptedHarness } from "../scripted-harness.fake.ts";
import type { StartChild } from "../wire/agent-child.ts";

const prompt: Prompt = {
  modelUid: "devin/default" as ModelUid, // as a catalogue would give it
  modelNumber: undefined,
  instructions: "",
  text: "Hello?",
  messages: [],
  images: [],
  maxOutputTokens: undefined,
  continues: undefined,
  form: "text",
};
/** How a process is started: by the way of this system, and by that of Windows, which works everywhere. */
const ways: readonly (readonly [string, StartChild])[] = [
  ["as here", spawnChild],
  ["below a relay", spawnRelayedChild],
];
const never = () => new AbortController().signal;

let harness: ScriptedHarness;
afterEach(async () => {
  await harness.close();
});

async function ask(agent: AcpAgent, asked: Partial<Prompt> = {}) {
  const events = [];
  const batches = agent.backend.run({ ...prompt, ...asked }, { keep: false, onAlive: () => {} }, never());
  for await (const event of eventsOf(batches)) events.push(event);
  return events;
}

async function started() {
  return (await harness.journal()).filter((line) => line.what === "start");
}

describe("a process of an agent", () => {
  test("has its own environment and an empty working folder, and is offered no files and no terminal", async () => {
    const secrets = () => Promise.resolve({ FAKE_KEY: new Secret("s3cret") });
    harness = await ScriptedHarness.open({ text: "Hi." }, { secrets });
    process.env["ACP_BACKEND"] = "windsurf";
    try {
      await ask(harness.agent());
    } finally {
      delete process.env["ACP_BACKEND"];
    }
    const [start] = await started();
    expect(start?.environment).toMatchObject({ FAKE_AGENT_FOLDER: harness.folder, FAKE_KEY: "s3cret" });
    const ofTheShell = ["PWD", "SHLVL", "_", "OLDPWD", "MILLRACE_AGENT"];
    expect(
      Object.keys(start?.environment ?? {})
        .filter((name) => !ofTheShell.includes(name))
        .toSorted(),
    ).toEqual(["FAKE_AGENT_FOLDER", "FAKE_KEY"]);
    expect(readdirSync(start?.cwd ?? "")).toEqual([]);
    const greeting = (await harness.journal()).find((line) => line.what === "initialize");
    expect(greeting).toMatchObject({
      client: "millrace",
      capabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
  });

  test("is introduced by the vendor's client name where the build takes no other", async () => {
    harness = await ScriptedHarness.open({ text: "Hi.", onlyClient: "windsurf" });
    expect((await ask(harness.agent())).at(-1)).toMatchObject({ type: "finished" });
    const names = (await harness.journal()).flatMap((line) => (line.what === "initialize" ? [line.client] : []));
    expect(names).toEqual(["millrace", "windsurf"]);
  });

  test.each(ways)("serves two turns at the same time, %s", async (_, startChild) => {
    harness = await ScriptedHarness.open({ text: "Working", holds: true });
    const agent = harness.agent({ startChild });
    const stops = [new AbortController(), new AbortController()];
    const turns = stops.map(({ signal }) => {
      const batches = agent.backend.run(prompt, { keep: false, onAlive: () => {} }, signal);
      return eventsOf(batches);
    });
    for (const turn of turns) {
      expect((await turn.next()).value).toMatchObject({ type: "started" });
      expect((await turn.next()).value).toMatchObject({ type: "text" });
    }
    expect(await agent.stats()).toMatchObject({
      processes: [{ sessions: 2, runningTurns: 2, rssBytes: expect.any(Number), startupMs: expect.any(Number) }],
      starts: 1,
      prompts: 2,
      agentVersion: "scripted 1.2.3",
    });
    const [begun] = await started();
    expect((await agent.stats()).processes.map(({ pid }) => pid)).toEqual([begun?.pid]);
    for (const stop of stops) stop.abort("cancel");
    await Promise.all(turns.map((turn) => turn.next()));
  });

  test("ends after its warm time, and a new one is started when it is needed", async () => {
    harness = await ScriptedHarness.open({ text: "Hi." });
    const agent = harness.agent({ warmMs: 1 });
    await ask(agent);
    await expect.poll(async () => (await agent.stats()).processes).toEqual([]);
    await ask(agent);
    expect(await agent.stats()).toMatchObject({ starts: 2, crashes: 0 });
  });

  test("one a model of the summarizer, four at most: the one unused for longest makes room", async () => {
    harness = await ScriptedHarness.open({ text: "Hi." });
    const agent = harness.agent();
    for (const model of ["a", "b", "c", "d", "e", "a", "c"])
      await ask(agent, { modelUid: `devin/${model}` as ModelUid, form: "tools" });
    expect((await agent.stats()).processes).toHaveLength(4);
    const args = (await started()).map((line) => line.args.join(" "));
    // "e" ended "a", which ended "b"; "c" is still there
    expect(args).toEqual(["a", "b", "c", "d", "e", "a"].map((model) => `--agent-type summarizer --model ${model}`));
  });

  test.each(ways)(
    "that cannot start: the error says how it ended and what it wrote, without the key, %s",
    async (_, startChild) => {
      const secrets = () => Promise.resolve({ FAKE_KEY: new Secret("s3cret") });
      harness = await ScriptedHarness.open({ exitsAtOnce: true }, { secrets });
      const [failed] = await ask(harness.agent({ startChild }));
      expect(failed).toMatchObject({
        type: "failed",
        error: {
          code: "upstream_failed",
          message: expect.stringContaining("exit code 3"),
          details: { standardError: ["cannot start: the key is [redacted]"] },
        },
      });
    },
  );

  test("that keeps failing is not started again at once: the error is repeated, with the time to wait", async () => {
    harness = await ScriptedHarness.open({ exitsAtOnce: true });
    const agent = harness.agent({ restartMs: 60_000 });
    await ask(agent);
    const [failed] = await ask(agent);
    expect(failed).toMatchObject({
      type: "failed",
      error: { message: expect.stringContaining("exit code 3"), retryAfterMs: expect.any(Number), repeated: true },
    });
    expect(await started()).toHaveLength(1);
  });

  test.each(ways)("whose program is not there: the error names it, %s", async (_, startChild) => {
    harness = await ScriptedHarness.open({}, { command: "/nowhere/devin" });
    const [failed] = await ask(harness.agent({ startChild }));
    const message = expect.stringContaining('"/nowhere/devin" is not there') as string;
    expect(failed).toMatchObject({ type: "failed", error: { message } });
  });

  test.each(ways)("that ignores the end of its input is killed when the agent is closed, %s", async (_, startChild) => {
    harness = await ScriptedHarness.open({ text: "Hi.", stubborn: true });
    const agent = harness.agent({ startChild });
    await ask(agent);
    const [start] = await started();
    await agent.close();
    expect(runs(start)).toBe(false);
  });
});

test.each(ways)("no process outlives a gateway that is killed, not even a stubborn one, %s", async (_, startChild) => {
  harness = await ScriptedHarness.open({ text: "Working", holds: true, stubborn: true });
  const gateway = await gatewayInTheMiddle(startChild === spawnRelayedChild);
  const [start] = await started();
  expect(runs(start)).toBe(true);
  gateway.kill("SIGKILL");
  await expect.poll(() => runs(start), { timeout: 10_000 }).toBe(false);
});

test("an agent below a relay sees no variable of the relay", async () => {
  harness = await ScriptedHarness.open({ text: "Hi." });
  await ask(harness.agent({ startChild: spawnRelayedChild }));
  const [start] = await started();
  expect(Object.keys(start?.environment ?? {})).toEqual(["FAKE_AGENT_FOLDER"]);
});

/** A process that asks the agent, and waits in the middle of the answer. */
async function gatewayInTheMiddle(isRelayed: boolean): Promise<ChildProcess> {
  const program = join(import.meta.dirname, "../asking-gateway.fake.ts");
  const gateway = spawn(process.execPath, [program, JSON.stringify(harness.spec), isRelayed ? "relay" : ""], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await orAborted(once(gateway.stdout, "data"), AbortSignal.timeout(60_000)); // the conversation has begun
  return gateway;
}

function runs(child: { readonly pid: number } | undefined): boolean {
  if (child === undefined) throw new Error("it was never started");
  return processRuns(child.pid);
}
