import { expect, test } from "vitest";
import { tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { newNames } from "../../src/gateway/streams/stream-world.fake.ts";
import { temporaryHome } from "../support/home.ts";
import { type OriginalCall, type OriginalOptions, runOriginalClient } from "../support/original-client.ts";
import { gateway, model, patience, patienceMs, simulator, world } from "../support/world.ts";

const ways = tierNames.flatMap((tier) => [
  { tier, json: false },
  { tier, json: true },
]);

/** A question as an original client puts it, with tools of its own. */
function question(text: string): OriginalOptions["request"] {
  const parameters = JSON.stringify({ type: "object", properties: { command: { type: "string" } } });
  return {
    conversation: [{ text, type: "MESSAGE_TYPE_HUMAN", bubbleId: "b1" }],
    modelDetails: { modelName: model },
    conversationId: crypto.randomUUID(),
    isAgentic: true,
    mcpTools: [{ name: "bash", description: "Runs a command.", parameters }],
  };
}

const twoCalls = `[[agent
say Let me look.
call bash {"command":"ls"}
---
call bash {"command":"pwd"}
---
say The tools said: {results}
]] Go on.`;

test("a client of the published protocol continues when its gateway is killed between a call and its result", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home });
  let served = await gateway({ home });
  const doomed = served;
  const waiting: (() => void)[] = [];
  const runs = ways.map(async (way) => {
    const ran: string[] = [];
    /** The first call ends when the gateway is dead and another one is there. */
    const runTool = async ({ toolCallId }: OriginalCall) => {
      ran.push(toolCallId);
      if (ran.length === 1) await new Promise<void>((resolve) => waiting.push(resolve));
      return `result ${ran.length}`;
    };
    const options = { names: newNames(), request: question(twoCalls), user: patience(), waitMs: 100 };
    const outcome = await runOriginalClient({ ...options, ...way, runTool, target: () => served });
    return { outcome, ran };
  });
  await expect.poll(() => waiting.length, { timeout: patienceMs }).toBe(ways.length);
  await doomed.kill();
  served = await gateway({ home });
  for (const goOn of waiting) goOn();
  for (const { outcome, ran } of await Promise.all(runs)) {
    expect(outcome).toMatchObject({ end: "done", text: "Let me look.The tools said: result 1 | result 2" });
    expect(outcome.attaches).toBeGreaterThan(1);
    expect(new Set(ran).size).toBe(2);
  }
  expect((await ide.report()).messages).toHaveLength(3 * ways.length); // three answers each, each asked for once
});

test("an original client does not retry a final refusal, and its abort ends the answer", async () => {
  const { served, ide } = await world();
  const { url, key } = served;
  const run = (way: (typeof ways)[number], more: Partial<OriginalOptions> = {}) =>
    runOriginalClient({
      ...way,
      names: newNames(),
      request: question("[[sim: size=9000 rate=100]] at length"),
      runTool: () => Promise.reject(new Error("nothing is called")),
      user: patience(),
      waitMs: 100,
      target: () => ({ url, key }),
      ...more,
    });
  const looseKey = { ...newNames(), encryptionKey: `${"A".repeat(42)}B` }; // the spelling of another key's bytes
  const noModel = { ...question("Hello?"), modelDetails: { modelName: "no-such-model" } };
  const refused = [
    [{ target: () => ({ url, key: "another key altogether" }) }, "ERROR_UNAUTHORIZED"],
    [{ names: looseKey }, "ERROR_BAD_REQUEST"],
    [{ request: noModel }, "ERROR_BAD_MODEL_NAME"],
    [{ request: { conversationId: "c1" } }, "ERROR_BAD_REQUEST"],
  ] as const;
  await Promise.all(
    ways.flatMap((way) =>
      refused.map(async ([more, error]) => {
        const outcome = await run(way, more);
        expect(outcome).toMatchObject({ end: "failed", attaches: 1, details: { error } });
      }),
    ),
  );
  expect((await ide.report()).messages).toHaveLength(0);

  const aborted = await Promise.all(
    ways.map(async (way) => {
      const user = new AbortController();
      const running = run(way, { user: user.signal });
      await ide.until(({ messages }) => messages.length > 0, patience());
      user.abort();
      return running;
    }),
  );
  for (const { end } of aborted) expect(end).toBe("aborted");
  await ide.until(({ cascades }) => cascades.every(({ archived }) => archived), patience());
});
