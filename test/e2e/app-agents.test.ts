import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import type { Simulator } from "../../simulator/index.ts";
import { processExists } from "../../src/base/node/process-exists.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, openai, patience, simulator } from "../support/world.ts";

it("the app's own agents are neither taken for an IDE, nor asked, nor ended", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, profile: "devin-3" });
  for (const args of [["acp"], ["acp", "--agent-type", "summarizer"]]) ofApp(ide, args);
  const { processes: own } = await ide.untilAgent(({ processes }) => processes.length === 2, patience());
  const typesOf = own.map((one) => one.arguments.join(" ")).toSorted();
  expect(typesOf).toEqual(["acp", "acp --agent-type summarizer"]);

  const { stdout } = await millrace(["status", "--json"], { home });
  const { accounts } = JSON.parse(stdout) as { accounts: { what: string; signed_in: boolean }[] };
  expect(accounts.map((one) => [one.what, one.signed_in])).toEqual([
    ["editor", true],
    ["agent program", true],
  ]);

  const looked = await millrace(["doctor", "--json"], { home });
  expect(looked.code).toBe(0);
  expect(JSON.parse(looked.stdout)).toMatchObject({
    ides: [{ pid: ide.pid }],
    backend: { kind: "acp" },
    agents: [{ name: "devin" }],
  });

  const served = await gateway({ home });
  const messages = [{ role: "user" as const, content: "count to 3" }];
  const { choices } = await openai(served).chat.completions.create({ model: "swe-2:high", messages });
  expect(choices[0]?.message.content).toBe("1, 2, 3");
  const isOwn = (pid: number) => own.some((one) => one.pid === pid);
  const { processes, sessions } = ide.agentReport();
  expect(processes.filter(({ pid, running }) => running && !isOwn(pid))).toHaveLength(1);
  expect(sessions.filter(({ pid }) => isOwn(pid))).toEqual([]);
  expect(ide.prompts()).toHaveLength(1);

  await served.stop();
  await ide.untilAgent(({ processes }) => processes.filter(({ running }) => running).length === 2, patience());
  for (const { pid } of own) expect(processExists(pid)).toBe(true);
});

/** A process that a running app keeps for itself: its environment says that the host authenticates. */
function ofApp({ home, agentPath = "" }: Simulator, args: readonly string[]): void {
  const env = { HOME: home, MILLRACE_STAND_IN: "1", ACP_BACKEND: "windsurf" };
  const words = [...readFileSync(agentPath, "utf8").matchAll(/'([^']*)'/g)].map(([, word = ""]) => word);
  const [program = "", ...first] = words; // without its launcher, so that the process table shows the app's name for it
  const child = spawn(program, [...first, ...args], {
    argv0: agentPath,
    cwd: home,
    env,
    stdio: ["pipe", "ignore", "ignore"],
  });
  onTestFinished(async () => {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  });
}
