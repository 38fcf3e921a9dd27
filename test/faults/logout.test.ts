import { expect, test } from "vitest";
import type { CascadeReport } from "../../simulator/index.ts";
import { processRuns } from "../../src/base/node/process-exists.ts";
import { readGatewayFile } from "../../src/cli/gateway-process/gateway-file.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { hasTerminals, onTerminal } from "../support/terminal.ts";
import { ask, collect, gateway, model, openai, patience, simulator, world } from "../support/world.ts";

/* The user logs out, and later in again: all programs end at once. */

const size = 600;
const polls = ["GetCascadeTrajectorySteps", "GetCascadeTrajectory", "GetCascadeTranscriptForTrajectoryId"];

const whole = expect.stringMatching(/^.{600}$/s) as string;

test.each([
  { name: "of which the IDE has all comes whole", isWhole: true, end: { reason: "stop", text: whole } },
  {
    name: "that the model still writes fails by name and keeps its part",
    isWhole: false,
    end: { code: "upstream_failed" },
  },
])("over Cascade an answer $name at the next login, and nothing is asked twice", async ({ isWhole, end }) => {
  const args = ["--continuity", "off"];
  const { home, client, ide, served } = await world({ args });
  const question = { ...ask(`[[sim: size=${size} hold-after=300 thinking=0]] write`), stream: true } as const;
  const headers = { "idempotency-key": "once" };
  const { data: stream, response } = await client.chat.completions.create(question, { headers }).withResponse();
  let logout: Promise<unknown> | undefined;
  const leave = async () => {
    if (isWhole) {
      await ide.setFaults(polls.map((rpc) => ({ rpc, hang: true }))); // only the next login shows the rest
      await ide.release();
      const isOnDisk = ({ turnsEnded, writing }: CascadeReport) => turnsEnded === 1 && !writing;
      await ide.until(({ cascades }) => cascades.some(isOnDisk), patience());
    }
    expect((await ide.report()).messages).toHaveLength(1);
    await Promise.all([served.stop(), ide.restart()]);
    await ide.setFaults([]);
  };
  let text = "";
  const reading = (async () => {
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (text.length > 20) logout ??= leave();
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: "unavailable" });
  await logout;
  expect(text.length).toBeLessThan(size);

  const next = await gateway({ home, args });
  const again = await openai(next).chat.completions.create(question, { headers }).withResponse();
  expect(again.response.headers.get("x-millrace-turn")).toBe(response.headers.get("x-millrace-turn"));
  const got = await collect(again.data).catch((error: unknown) => error);
  expect(got).toMatchObject(end);
  const { startedCascades, messages } = await ide.report(); // since its restart
  expect([startedCascades, messages]).toEqual([0, []]);
});

test.runIf(hasTerminals)(
  "a terminal that is closed ends `chat`, and neither its answer nor the gateway that it started",
  async () => {
    const home = temporaryHome();
    const ide = await simulator({ home, turn: { size, holdAfter: 300, rate: 4_000, thinking: 0 } });
    const chat = onTerminal(["chat", "--model", model, "write"], { home });
    await ide.until(({ messages }) => messages.length === 1, patience());
    await chat.shows(/\S{5}/);
    const { pid = 0 } = readGatewayFile(`${home}/.millrace/gateway.json`) ?? {};
    await chat.close();
    await ide.release();
    const again = await millrace(["tail", "--follow"], { home });
    expect([again.code, again.stdout.replace(/\n$/, "").length]).toEqual([0, size]);
    expect((await ide.report()).messages).toHaveLength(1);
    expect(processRuns(pid)).toBe(true);
  },
);
