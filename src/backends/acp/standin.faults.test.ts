import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { systemClock } from "../../base/clock.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { type BackendHarness, describeBackend } from "../backend.conformance.ts";
import { eventsOf, type Prompt } from "../backend.ts";
import { replay } from "../replay.fake.ts";
import { type AcpAgent, type AcpAgentSpec, openAcpAgent } from "./agent.ts";

/** The stand-in's `devin` program, as discovery would find and start it. */
class Standin {
  readonly simulator: Simulator;
  readonly #folder: string;
  readonly #agents: AcpAgent[] = [];

  private constructor(simulator: Simulator, folder: string) {
    this.simulator = simulator;
    this.#folder = folder;
  }

  static async start(): Promise<Standin> {
    const simulator = await startSimulator({ profile: "devin-cli", turn: { rate: "instant" } });
    return new Standin(simulator, await mkdtemp(join(tmpdir(), "millrace-acp-")));
  }

  agent(more: Partial<AcpAgentSpec> = {}): AcpAgent {
    const { cliPath, home } = this.simulator;
    if (cliPath === undefined) throw new Error("the stand-in has no devin program");
    const spec: AcpAgentSpec = {
      name: "devin",
      ide: "windsurf",
      vendor: "devin",
      command: cliPath,
      args: ["acp"],
      environment: { HOME: home },
      folder: this.#folder,
      ...more,
    };
    const agent = openAcpAgent(spec, { clock: systemClock, restartMs: 1 });
    this.#agents.push(agent);
    return agent;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.close()));
    await this.simulator.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

describeBackend(
  "ACP, the stand-in's devin",
  { trajectories: true, modelUid: "swe-2-high", archivesStoredOnly: true },
  async () => {
    const standin = await Standin.start();
    const { simulator } = standin;
    const { backend } = standin.agent();
    const idOf = (sessionId: string) => `acp:devin:${sessionId}` as CascadeId;
    const harness: BackendHarness = {
      backends: { choose: () => Promise.resolve(backend), holding: () => Promise.resolve(backend) },
      async answer(next) {
        if ("refuses" in next) {
          const errorAt = next.refuses === "in the call" ? "send" : "step";
          await simulator.setTurn({ rate: "instant", error: "rate_limit", errorAt });
          return;
        }
        const holding = "holds" in next ? { stallMs: 600_000, stallAfter: next.text.length } : {};
        await simulator.setTurn({ rate: 2_000, inputMs: 5, firstMs: 5, text: next.text, ...holding });
      },
      counts() {
        const { prompts, cancels, deletes } = simulator.agentReport();
        return Promise.resolve({
          accepted: prompts.length,
          cancels: cancels.map(({ sessionId }) => idOf(sessionId)),
          archives: deletes.map(idOf),
        });
      },
      close: () => standin.stop(),
    };
    return harness;
  },
);

describe("the stand-in's devin", () => {
  let standin: Standin;
  beforeAll(async () => {
    standin = await Standin.start();
  });
  afterAll(async () => {
    await standin.stop();
  });

  const prompt: Prompt = {
    modelUid: "swe-2-high" as ModelUid, // as a catalogue would give it
    modelNumber: undefined,
    instructions: "Be brief.",
    text: "count to 5",
    messages: [{ role: "user", text: "count to 5" }],
    images: [],
    maxOutputTokens: undefined,
    continues: undefined,
    form: "text",
  };
  async function ask(agent: AcpAgent, asked: Partial<Prompt> = {}): Promise<TurnEventBody[]> {
    const events: TurnEventBody[] = [];
    const options = { keep: false, onAlive: () => {} };
    const batches = agent.backend.run({ ...prompt, ...asked }, options, new AbortController().signal);
    for await (const event of eventsOf(batches)) events.push(event);
    return events;
  }
  const accepted = () => standin.simulator.prompts().length;

  test.each([
    ["before-store", "finished", 1, "One, two, three."],
    ["after-store", "failed", 1, ""],
    ["mid-answer", "failed", 1, "O"],
    ["before-reply", "failed", 1, "One, two, three."],
    ["after-reply", "finished", 1, "One, two, three."],
  ] as const)("killed %s: the turn is %s, the prompt is accepted %i times", async (crash, end, prompts, kept) => {
    const { simulator } = standin;
    await simulator.setTurn({ rate: "instant", text: "One, two, three.", chunk: 8 });
    await simulator.setAgent({ faults: [{ method: "session/prompt", times: 1, crash }] });
    const before = accepted();
    const events = await ask(standin.agent());
    await simulator.setAgent({});
    expect(events.at(-1)?.type).toBe(end);
    expect(accepted() - before).toBe(prompts);
    expect(replay(events).text).toContain(kept);
  });

  test("is asked in `ask` mode for text, and as the summarizer with its model where the client offers tools", async () => {
    await standin.simulator.setTurn({ rate: "instant", text: "Hi." });
    const agent = standin.agent();
    await ask(agent);
    await ask(agent, { form: "tools" });
    expect(standin.simulator.prompts().slice(-2)).toMatchObject([
      { agentType: "default", mode: "ask", model: "swe-2-high" },
      { agentType: "summarizer", model: "swe-2-high" },
    ]);
  });

  test("the summarizer carries a framed request on instead of summarising it", async () => {
    await standin.simulator.setAgent({ summarizer: "unframed" });
    await standin.simulator.setTurn({ rate: "instant", text: "Carried on." });
    const events = await ask(standin.agent(), { form: "tools" });
    await standin.simulator.setAgent({});
    expect(events.at(-1)).toMatchObject({ type: "finished", text: "Carried on." });
  });

  test("a read may happen, and the answer continues past it", async () => {
    await standin.simulator.setTurn({ rate: "instant", text: "Read.", tools: 2 });
    expect((await ask(standin.agent())).at(-1)).toMatchObject({ type: "finished", text: "Read." });
  });

  test("an attempt to write stops the turn, and the tool is named", async () => {
    await standin.simulator.setTurn({ rate: "instant", text: "Written.", writes: 1 });
    const events = await ask(standin.agent());
    expect(events.at(-1)).toMatchObject({
      type: "failed",
      error: {
        code: "upstream_failed",
        message: expect.stringContaining("edit"),
        details: { reason: "unusable_answer" },
      },
    });
  });

  test("a question to its own user is the answer", async () => {
    await standin.simulator.setTurn({ rate: "instant", text: "Never.", waiting: true });
    const events = await ask(standin.agent());
    expect(events.at(-1)).toMatchObject({ type: "finished", text: "Which of these do you want?" });
  });

  test("a notice of a compaction is no part of the answer, and a request for diagnostics is answered", async () => {
    await standin.simulator.setTurn({ rate: "instant", text: "The answer.", compaction: true, diagnostics: true });
    expect((await ask(standin.agent())).at(-1)).toMatchObject({ type: "finished", text: "The answer." });
    expect(standin.simulator.agentReport().diagnostics.at(-1)).toBe(true);
  });

  test("a notice about the plan is in the error, and in no answer", async () => {
    await standin.simulator.setTurn({ rate: "instant", text: "The answer.", notices: true });
    expect((await ask(standin.agent())).at(-1)).toMatchObject({ type: "finished", text: "The answer." });
    await standin.simulator.setTurn({ rate: "instant", error: "quota", errorAt: "step", notices: true });
    expect((await ask(standin.agent())).at(-1)).toMatchObject({
      error: { code: "quota_exhausted", message: expect.stringContaining('The agent says: "Weekly quota') },
    });
  });

  test.each([
    ["rate_limit", "rate_limited"],
    ["quota", "quota_exhausted"],
  ] as const)("%s is %s", async (error, code) => {
    await standin.simulator.setTurn({ rate: "instant", error, errorAt: "send" });
    expect((await ask(standin.agent())).at(-1)).toMatchObject({ type: "failed", error: { code } });
  });

  test.each(["both", "update", "result"] as const)("tokens told in %s are reported as they are", async (usage) => {
    await standin.simulator.setAgent({ usage });
    await standin.simulator.setTurn({ rate: "instant", text: "Counted." });
    const events = await ask(standin.agent());
    await standin.simulator.setAgent({});
    expect(events.find(({ type }) => type === "usage")).toMatchObject({
      estimated: false,
      promptTokens: expect.any(Number),
    });
  });

  test("lists its models", async () => {
    const models = await standin.agent().models(new AbortController().signal);
    expect(models).toContainEqual({
      id: "claude-opus-5-high",
      label: "Claude Opus 5 High",
      description: "Claude Opus 5",
      group: undefined,
      isCurrent: false,
    });
    expect(models.filter(({ isCurrent }) => isCurrent)).toHaveLength(1);
  });

  test("a model that it does not have is reported before anything is asked", async () => {
    const before = accepted();
    const [failed] = await ask(standin.agent(), { modelUid: "swe-9" as ModelUid });
    expect(failed).toMatchObject({ type: "failed", error: { code: "unknown_model" } });
    expect(accepted()).toBe(before);
  });

  test("without a key the error says how to sign in", async () => {
    const [failed] = await ask(standin.agent({ environment: { HOME: join(standin.simulator.home, "nobody") } }));
    expect(failed).toMatchObject({
      type: "failed",
      error: { code: "not_signed_in", hint: expect.stringContaining("devin auth login") },
    });
  });
});
