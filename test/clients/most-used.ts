import { join } from "node:path";
import { say } from "../support/long-suite.ts";
import { atOnce } from "./at-once.ts";
import { installClients, manifestOf } from "./install.ts";
import { agentSessions } from "./sessions/agents.ts";
import { cliSessions } from "./sessions/clis.ts";
import { driveSession } from "./sessions/drive.ts";
import { editorSessions } from "./sessions/editors.ts";
import type { StepName } from "./sessions/script.ts";
import { sdkSessions } from "./sessions/sdks.ts";

/*
 * `npm test -- programs most-used`: one short session of each of the five most used clients, as a commit's run has it. Only what these need is
 * installed. `programs clients` has whole sessions of every client.
 */
const mostUsed = ["Codex", "Claude Code", "OpenCode", "Cline", "Vercel AI SDK"];
/** What a client alone can break: how it begins, how it calls its tools, and what it does when an answer is cut. */
const steps: readonly StepName[] = ["first turn", "tools", "gateway killed"];

const all = [...cliSessions, ...editorSessions, ...agentSessions, ...sdkSessions];
const chosen = mostUsed.flatMap((name) => all.find((session) => session.name === name) ?? []);
const packages = new Set(chosen.map(({ packageName }) => packageName));
/** The AI SDK's providers are packages of their own. */
const isNeeded = (name: string) => packages.has(name) || name.startsWith("@ai-sdk/");
const clients = await installClients({ manifest: manifestOf(join(import.meta.dirname, "package.json"), isNeeded) });
const count = { passed: 0, failed: mostUsed.length - chosen.length };
await atOnce([...chosen.entries()], 2, async ([at, client]) => {
  const acp = at % 2 === 1;
  const tell = (step: StepName, { type, note, ms, ran }: Parameters<Parameters<typeof driveSession>[2]["tell"]>[1]) => {
    count[type === "passed" ? "passed" : "failed"]++;
    const title = `${client.name} over ${acp ? "ACP" : "Cascade"}: ${step}`;
    say(`${(type === "passed" ? "ok" : "FAILED").padEnd(7)} ${title} (${(ms / 1000).toFixed(1)} s) ${note}`);
    if (type !== "passed") say(`${ran?.stdout.slice(-3_000)}\n${ran?.stderr.slice(-3_000)}`);
  };
  await driveSession(clients, client, { acp, tell, only: steps });
});
say(`${count.passed} passed, ${count.failed} failed`);
process.exitCode = count.failed > 0 ? 1 : 0;
