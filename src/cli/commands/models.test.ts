import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { toolCallsSchema } from "../../usage/envelope.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { fakeLimits, fixtureNowMs, runAt } from "../limits/limits-source.fake.ts";
import { modelsCommand } from "./models.ts";

const homeFolder = mkdtempSync(join(tmpdir(), "millrace-models-"));

async function tools(argv: readonly string[]) {
  const history = openHistory({ file: ":memory:", keepDays: 400 });
  const atMs = fixtureNowMs - 2 * 86_400_000;
  history.addToolCalls({
    turnId: "a",
    model: "claude-opus-4-7-high",
    atMs,
    firstTry: 9,
    repaired: 1,
    reasked: 0,
    failed: 0,
  });
  history.addToolCalls({ turnId: "b", model: "kimi-k2-6", atMs, firstTry: 1, repaired: 0, reasked: 2, failed: 1 });
  const source = fakeLimits({ history, answers: () => Promise.resolve([]) });
  const command = modelsCommand(source.open);
  const ran = await runAt(["models", "--tools", ...argv], command, { homeFolder, clock: source.clock });
  history.close();
  expect(source.closed()).toBe(1);
  return ran;
}

it("shows how each model fared at calling tools, from the history of a gateway that does not run now", async () => {
  const { code, stdout } = await tools([]);
  expect(code).toBe(0);
  expect(stdout).toBe(
    [
      "MODEL                 CALLS  FIRST TRY  REPAIRED  RE-ASKED    FAILED",
      "claude-opus-4.7:high     10   9 (90 %)  1 (10 %)         0         0",
      "kimi-k2.6                 4   1 (25 %)         0  2 (50 %)  1 (25 %)",
      "",
    ].join("\n"),
  );
});

it("prints them as the gateway answers them, and says when there are none", async () => {
  const { stdout } = await tools(["--json"]);
  expect(toolCallsSchema.parse(JSON.parse(stdout)).data).toHaveLength(2);
  expect((await tools(["--since", "1d"])).stderr).toContain("No model called a tool");
});

it("says what --since is for where it counts nothing", async () => {
  const { open, clock } = fakeLimits({ answers: () => Promise.resolve([]) });
  const { code, stderr } = await runAt(["models", "--since", "7d"], modelsCommand(open), { homeFolder, clock });
  expect(code).not.toBe(0);
  expect(stderr).toContain("Add --tools");
});

it("refuses words to search for where it counts calls", async () => {
  const { open, clock } = fakeLimits({ answers: () => Promise.resolve([]) });
  const { code, stderr } = await runAt(["models", "opus", "--tools"], modelsCommand(open), { homeFolder, clock });
  expect(code).not.toBe(0);
  expect(stderr).toContain("--tools takes no words");
});
