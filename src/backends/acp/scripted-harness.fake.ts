import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { systemClock } from "../../base/clock.ts";
import { type AcpAgent, type AcpAgentOptions, type AcpAgentSpec, openAcpAgent } from "./agent.ts";
import type { AgentPlan, JournalLine } from "./scripted-plan.fake.ts";

/** The scripted agent as a program that Millrace starts, with a journal of its calls. */
export class ScriptedHarness {
  readonly folder: string;
  readonly spec: AcpAgentSpec;
  readonly agents: AcpAgent[] = [];

  private constructor(folder: string, more: Partial<AcpAgentSpec>) {
    this.folder = folder;
    this.spec = {
      name: "devin",
      ide: "windsurf",
      vendor: "devin",
      command: process.execPath,
      args: ["--experimental-strip-types", "--no-warnings", join(import.meta.dirname, "scripted-agent.fake.ts")],
      environment: { FAKE_AGENT_FOLDER: folder },
      folder: join(folder, "state"),
      ...more,
    };
  }

  static async open(plan: AgentPlan = {}, more: Partial<AcpAgentSpec> = {}): Promise<ScriptedHarness> {
    const harness = new ScriptedHarness(await mkdtemp(join(tmpdir(), "millrace-acp-")), more);
    await harness.plan(plan);
    return harness;
  }

  /** A gateway's view of the agent; a second one is the view of a restarted gateway. */
  agent(options: Partial<AcpAgentOptions> = {}): AcpAgent {
    const agent = openAcpAgent(this.spec, { clock: systemClock, restartMs: 1, ...options });
    this.agents.push(agent);
    return agent;
  }

  async plan(plan: AgentPlan): Promise<void> {
    const written = join(this.folder, "plan.json.new");
    await writeFile(written, JSON.stringify(plan));
    await rename(written, join(this.folder, "plan.json")); // the agent may read it at any time
  }

  async journal(): Promise<readonly JournalLine[]> {
    try {
      const lines = (await readFile(join(this.folder, "journal.jsonl"), "utf8")).split("\n");
      return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as JournalLine); // the agent wrote them
    } catch {
      return []; // it was not started yet
    }
  }

  async count(what: JournalLine["what"]): Promise<number> {
    return (await this.journal()).filter((line) => line.what === what).length;
  }

  async close(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.close()));
    await rm(this.folder, { recursive: true, force: true });
  }
}
