import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../../../simulator/index.ts";
import { type Clock, systemClock } from "../../../base/clock.ts";
import { doctorCommand } from "../../commands/doctor.ts";
import { main } from "../../main.ts";
import { fakeIo } from "../../terminal/io.fake.ts";
import { heldMs } from "./prompts.ts";
import type { ContractReport } from "./report.ts";

const apiKey = "sk-ws-01-planted-api-key";

/** The time for which a call is held passes in 3 s. */
const quickClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms === heldMs ? 3_000 : ms, signal),
};

describe.runIf(process.platform === "linux")("millrace doctor --contract", () => {
  async function machine(options: SimulatorOptions) {
    const simulator = await startSimulator({ apiKey, ...options });
    const homeFolder = await mkdtemp(join(tmpdir(), "millrace-contract-"));
    onTestFinished(async () => {
      await simulator.stop();
      await rm(homeFolder, { recursive: true, force: true });
    });
    const contract = async (...argv: readonly string[]) => {
      const io = fakeIo({ homeFolder, env: { MILLRACE_IDE_ONLY_HOME: simulator.home }, clock: quickClock });
      const code = await main(["doctor", ...argv], io, [doctorCommand]);
      return { code, stdout: io.written.stdout(), stderr: io.written.stderr() };
    };
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
    expect(report.prompts).toBeNull();
    expect(code).toBe(0);
    expect(await prompts(simulator, { editor: true, agent: false })).toEqual([]);
    expect((await simulator.report()).startedCascades).toBe(0);
  });

  it("looks at no stand-in beside a real editor, asks it nothing, and says so", async () => {
    const { simulator, contract } = await machine({ profile: "windsurf-2", unmarked: true });
    const standIn = await startSimulator({ profile: "windsurf-2", apiKey, home: simulator.home });
    onTestFinished(() => standIn.stop());
    const report = JSON.parse((await contract("--contract", "--spend", "--json")).stdout) as ContractReport;
    expect(report.data.map(({ product }) => product.includes("stand-in"))).toEqual([false]);
    expect(report.missing[0]).toContain("Stand-ins are left out beside a real IDE: 1.");
    expect((await simulator.report()).messages).toHaveLength(3);
    expect((await standIn.report()).messages).toEqual([]);
  });

  it("compares the agent of the CLI, deletes its sessions, and writes a report without secrets", async () => {
    const { simulator, homeFolder, contract } = await machine({ profile: "devin-cli" });
    const file = join(homeFolder, "contract.json");
    const { code, stdout, stderr } = await contract("--contract", "--report", file);
    expect(stdout).toMatch(/ok +agent\.initialize +version 1/);
    expect(stdout).toMatch(/ok +agent\.summarizer +no such option/);
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

  it("compares both on Devin Desktop, and with --spend sends the prompts that it announced", async () => {
    const { simulator, contract } = await machine({
      profile: "devin-3",
      turn: { rate: "instant", text: "Marzipan." },
    });
    const { stdout, stderr, code } = await contract("--contract", "--spend", "--json");
    const report = JSON.parse(stdout) as ContractReport;
    const parts = report.data.map(({ what }) => what);
    expect(parts).toEqual(["language server", "agent program", "tools of a client"]);
    expect(verdicts(report)).toMatchObject({ "server.cascade": "unknown", "server.steps": "ok", "agent.list": "ok" });
    expect(stderr).toContain("Sending 7 prompts");
    expect(await prompts(simulator, { editor: true, agent: true })).toHaveLength(7);
    const results = report.prompts ?? [];
    expect(results.map(({ style, form, verdict }) => `${style} ${form} ${verdict}`)).toEqual([
      "ask text ok",
      "ask tools differs",
      "ask json differs",
      "summarizer text ok",
      "summarizer tools differs",
      "summarizer json differs",
    ]);
    for (const { first_text_ms: first, completion_tokens: tokens } of results) {
      expect(first).toBeGreaterThanOrEqual(0);
      expect(tokens).toBeGreaterThan(0);
    }
    expect(simulator.agentReport().deletes).toHaveLength(7); // a session without a prompt is not stored
    expect(code).toBe(1);
  });

  it("with --spend asks Cascade where a server has it, and says where its agent used tools although none were asked for", async () => {
    const { simulator, contract } = await machine({
      profile: "windsurf-2",
      turn: { rate: "instant", text: "Marzipan.", tools: 1 },
    });
    const { stdout, stderr } = await contract("--contract", "--spend", "--json");
    const { prompts: results } = JSON.parse(stdout) as ContractReport;
    expect(stderr).toContain("Sending 3 prompts");
    expect(results?.map(({ style, form, verdict }) => `${style} ${form} ${verdict}`)).toEqual([
      "cascade text differs",
      "cascade tools differs",
      "cascade json differs",
    ]);
    expect(results?.[0]?.seen).toContain("it used LIST_DIRECTORY");
    expect((await simulator.report()).messages).toHaveLength(3);
  });

  it("with --spend finds nothing that differs where Cascade gives a plain answer", async () => {
    const { contract } = await machine({ profile: "windsurf-2", turn: { rate: "instant", text: "Marzipan." } });
    const { stdout } = await contract("--contract", "--spend", "--json");
    const { prompts: results } = JSON.parse(stdout) as ContractReport;
    expect(results?.[0]).toMatchObject({ style: "cascade", form: "text", verdict: "ok" });
  });

  it.each([
    [
      {},
      {
        tools: "ok asked for the tools",
        own: "ok 5 calls",
        permission: "ok asked 0 times",
        held: "ok waited for 65 s",
      },
    ],
    [
      { mcpPermission: true },
      { own: "ok 5 calls", permission: "differs asked 5 times", loop: "ok 5 calls, 1 prompts" },
    ],
    [{ mcpCallMs: 2_500 }, { own: "ok 5 calls", held: "differs gave up the call" }],
    [{ ownToolsFirst: true }, { own: "differs 0 calls, its own read", loop: "unknown it made 0 calls" }],
    [{ stdioServers: false }, { tools: "differs did not ask for them", own: "unknown it used no tool" }],
  ])("with --spend measures how an agent takes a client's tools: %j", async (agent, expected) => {
    const { simulator, contract } = await machine({
      profile: "devin-cli",
      turn: { rate: "instant", agent: "five" },
      agent,
    });
    const report = JSON.parse((await contract("--contract", "--spend", "--json")).stdout) as ContractReport;
    const checks = report.data.find(({ what }) => what === "tools of a client")?.checks ?? [];
    const seen = checks.map(({ id, verdict, seen: what }) => [
      id.replace(/^agent\.(tools-)?/, ""),
      `${verdict} ${what}`,
    ]);
    expect(Object.fromEntries(seen)).toMatchObject(expected);
    const sent = simulator.prompts().filter(({ text }) => text.includes("next_number"));
    expect(sent).toHaveLength("stdioServers" in agent ? 0 : 1);
  });

  it("asks the model that is named, and sends nothing where the agent has no such model or the report cannot be written", async () => {
    const { simulator, homeFolder, contract } = await machine({ profile: "devin-cli", turn: { rate: "instant" } });
    const none = await contract("--contract", "--spend", "--model", "no-such-model");
    expect(none.stderr).toContain('The agent has no model "no-such-model"');
    const taken = await contract("--contract", "--spend", "--report", homeFolder);
    expect(taken.stderr).toContain("cannot be written: it is there already");
    expect(await prompts(simulator, { editor: false, agent: true })).toEqual([]);

    await contract("--contract", "--spend", "--model", "swe-2:high");
    expect(simulator.prompts().map(({ model, agentType }) => `${agentType} ${model}`)).toEqual([
      ...Array<string>(3).fill("default swe-2-high"),
      ...Array<string>(3).fill("summarizer swe-2-high"),
      "default swe-2-high",
    ]);
  });

  it("says that --spend belongs to --contract, and asks nothing", async () => {
    const { simulator, contract } = await machine({ profile: "devin-cli" });
    expect((await contract("--spend")).stderr).toContain("--spend works only with --contract");
    expect(simulator.agentReport().calls).toEqual({});
  });
});
