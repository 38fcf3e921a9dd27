import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../../../simulator/index.ts";
import { temporaryFolder } from "../../../../test/support/temporary.ts";
import { doctorCommand } from "../../commands/doctor.ts";
import { runMain } from "../../run-main.fake.ts";
import type { ContractReport } from "./run-contract.ts";

const apiKey = "sk-ws-01-planted-api-key";

describe.runIf(process.platform === "linux")("millrace doctor --contract", () => {
  async function machine(options: SimulatorOptions) {
    const simulator = await startSimulator({ apiKey, ...options });
    const homeFolder = temporaryFolder();
    onTestFinished(() => simulator.stop());
    const contract = (...argv: readonly string[]) =>
      runMain(["doctor", ...argv], [doctorCommand], { homeFolder, env: { MILLRACE_IDE_ONLY_HOME: simulator.home } });
    return { simulator, homeFolder, contract };
  }
  const verdicts = (report: ContractReport) =>
    Object.fromEntries(report.data.flatMap(({ checks }) => checks.map(({ id, verdict }) => [id, verdict])));
  /** Every way in which a stand-in can be asked something. */
  const prompts = async (simulator: Simulator, by: { readonly editor: boolean; readonly agent: boolean }) => [
    ...(by.agent ? simulator.prompts() : []),
    ...(by.editor ? (await simulator.report()).messages : []),
  ];

  it("holds against Windsurf 2, whose server has Cascade, and sends no prompt", async () => {
    const { simulator, contract } = await machine({ profile: "windsurf-2" });
    const { code, stdout } = await contract("--contract", "--json");
    const report = JSON.parse(stdout) as ContractReport;
    expect(verdicts(report)).toEqual({
      "server.probe": "ok",
      "server.metadata": "ok",
      "server.user-status": "ok",
      "server.models": "ok",
      "server.plan": "ok",
      "server.limits": "ok",
      "server.cascade": "ok",
      "server.steps": "ok",
      "server.transcript": "ok",
    });
    expect(report.missing).toHaveLength(1);
    expect(code).toBe(0);
    expect(await prompts(simulator, { editor: true, agent: false })).toEqual([]);
    expect((await simulator.report()).startedCascades).toBe(0);
  });

  it("looks at no stand-in beside a real editor, asks it nothing, and says so", async () => {
    const { simulator, contract } = await machine({ profile: "windsurf-2", unmarked: true });
    const standIn = await startSimulator({ profile: "windsurf-2", apiKey, home: simulator.home });
    onTestFinished(() => standIn.stop());
    const report = JSON.parse((await contract("--contract", "--json")).stdout) as ContractReport;
    expect(report.data.map(({ product }) => product.includes("stand-in"))).toEqual([false]);
    expect(report.missing[0]).toContain("Stand-ins are left out beside a real IDE: 1.");
    expect((await standIn.report()).messages).toEqual([]);
  });

  it("compares the agent of the CLI, deletes its sessions, and writes a report without secrets", async () => {
    const { simulator, homeFolder, contract } = await machine({ profile: "devin-cli" });
    const file = join(homeFolder, "contract.json");
    const { code, stdout, stderr } = await contract("--contract", "--report", file);
    expect(stdout).toMatch(/ok +agent\.initialize: version 1/);
    expect(stdout).toMatch(/ok +agent\.summarizer: no such option/);
    expect(stderr).toContain("Look through it");
    const written = await readFile(file, "utf8");
    const report = JSON.parse(written) as ContractReport;
    expect(report.data.flatMap(({ checks }) => checks.filter(({ verdict }) => verdict !== "ok"))).toEqual([]);
    for (const secret of [apiKey, simulator.home, homeFolder]) expect(written + stdout).not.toContain(secret);
    for (const { sessionId } of simulator.agentReport().sessions) expect(written).not.toContain(sessionId);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(code).toBe(0);
    expect(await prompts(simulator, { editor: false, agent: true })).toEqual([]);
    expect(simulator.agentReport().calls).not.toHaveProperty("session/prompt");
    expect(simulator.agentReport().calls).toMatchObject({ "session/new": 2, "session/delete": 2 });

    expect(await contract("--contract", "--report", file)).toMatchObject({
      stderr: expect.stringContaining("already"),
    });
  });

  it("compares both on Devin Desktop", async () => {
    const { simulator, contract } = await machine({ profile: "devin-3" });
    const { stdout } = await contract("--contract", "--json");
    const report = JSON.parse(stdout) as ContractReport;
    expect(report.data.map(({ what }) => what)).toEqual(["language server", "agent program"]);
    expect(verdicts(report)).toMatchObject({ "server.cascade": "unknown", "server.steps": "ok", "agent.list": "ok" });
    expect(await prompts(simulator, { editor: true, agent: true })).toEqual([]);
  });
});
