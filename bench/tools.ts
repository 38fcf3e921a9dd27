import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { chatLoop } from "../test/support/tool-loop.ts";
import { quantile } from "./load/quantile.ts";

/**
 * `npm run bench tools`: a client's loop of 30 calls through a gateway, once with an agent that has the client's tool as its own and
 * once with one that is taught it in prose. The time of a round is what the gateway adds: from the client's results to the agent, and
 * from the agent's next call to the client.
 */
const rounds = 30;
const parameters = { type: "object", properties: { at: { type: "number" } }, required: ["at"] };
const tool = { name: "step", description: "Takes the next step.", parameters };
/** As long as an ordinary file that a client reads. */
const content = "A line of an ordinary file, as a client's tool reads it.\n".repeat(70);
const now = () => performance.timeOrigin + performance.now();

for (const way of ["native", "prose"] as const) {
  const { prompts, bytes, toAgentMs, toClientMs } = await loop(way);
  if (toAgentMs.length !== rounds || toClientMs.length !== rounds) throw new Error("a call or a result is missing");
  const addedMs = toAgentMs.map((ms, round) => ms + (toClientMs[round] ?? Number.NaN));
  const at = (share: number) => `${quantile(addedMs, share).toFixed(1)} ms`;
  console.log(
    `${way}: ${prompts} prompts, ${(bytes / 1_000).toFixed(0)} kB to the agent, ${at(0.5)} a round (95 %: ${at(0.95)})`,
  );
}

interface Loop {
  readonly prompts: number;
  /** That the agent read: its standard input, and the results of its calls. */
  readonly bytes: number;
  readonly toAgentMs: readonly number[];
  readonly toClientMs: readonly number[];
}

async function loop(way: "native" | "prose"): Promise<Loop> {
  const home = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  mkdirSync(join(home, ".millrace"));
  const command = [process.execPath, "--no-warnings", join(import.meta.dirname, "tools-agent.ts"), `${rounds}`, way];
  const config = `[[agents]]\nname = "loop"\ncommand = ${JSON.stringify(command)}\n`;
  writeFileSync(join(home, ".millrace/config.toml"), config, { mode: 0o600 });
  const gateway = await startGatewayProcess({ home });
  try {
    const messages: object[] = [{ role: "user", content: "Take thirty steps." }];
    const toClientMs: number[] = [];
    for (;;) {
      const answer = await chatLoop.ask(gateway, "loop/default", messages, tool);
      if (answer.calls.length === 0) return { ...(JSON.parse(answer.text) as Omit<Loop, "toClientMs">), toClientMs }; // the agent's report
      if (answer.way !== way) throw new Error(`the tools went as ${answer.way}`);
      toClientMs.push(...answer.calls.map(({ args }) => now() - Number(args["at"])));
      const text = `${content}sent=${now()}`;
      messages.push(...answer.messages, ...chatLoop.results(answer.calls.map(({ id }) => ({ id, text }))));
    }
  } finally {
    await gateway.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}
