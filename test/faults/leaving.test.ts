import { once } from "node:events";
import process from "node:process";
import { expect, test } from "vitest";
import { millrace, spawnMillrace } from "../support/gateway-process.ts";
import { ask, model, patience, untilText, world } from "../support/world.ts";

/** An answer of minutes, so that whatever ends the turn early shows. */
const slow = { turn: { rate: 40, size: 20_000 } } as const;

test("with no grace a mere disconnect stops the polling and archives the trajectory", async () => {
  const { ide, client } = await world({ simulator: slow, args: ["--grace", "0"] });
  const stream = await client.chat.completions.create({ ...ask("write"), stream: true });
  await untilText(stream);
  stream.controller.abort();
  await expectGone(ide);
});

test.runIf(process.platform !== "win32").each([
  ["SIGTERM", "goes on", 0],
  ["SIGINT", "is cancelled", 1],
] as const)("`chat` that gets a %s leaves an answer that %s", async (signal, _, code) => {
  const { home, ide, served } = await world({ simulator: { turn: { size: 1200, holdAfter: 600 } } });
  const chat = spawnMillrace(["chat", "--model", model, "write"], { home });
  const ended = once(chat, "exit");
  await new Promise((resolve) => chat.stdout.once("data", resolve));
  chat.kill(signal);
  expect(await ended).toEqual([130, null]);
  await ide.release();
  const again = await millrace(["tail", "--follow"], { home });
  expect([again.code, again.stdout.length >= 1200]).toEqual([code, code === 0]);
  expect((await ide.report()).messages).toHaveLength(1);
  await served.stop();
});

test.runIf(process.platform !== "win32")(
  "`chat` that is interrupted before the first text cancels its prompt",
  async () => {
    const { home, ide } = await world({ simulator: { turn: { size: 1200, thinking: 0, holdAfter: 0 } } });
    const chat = spawnMillrace(["chat", "--model", model, "write"], { home });
    const ended = once(chat, "exit");
    await ide.until(({ messages }) => messages.length === 1, patience());
    chat.kill("SIGINT");
    expect(await ended).toEqual([130, null]);
    await expectGone(ide);
  },
);

async function expectGone(ide: Awaited<ReturnType<typeof world>>["ide"]): Promise<void> {
  const report = await ide.until(
    ({ cascades, cancels }) => cancels.length === 1 && cascades.every(({ archived }) => archived),
    patience(),
  );
  const polls = report.calls["GetCascadeTrajectorySteps"];
  expect(report.cascades).toHaveLength(1);
  expect((await ide.report()).calls["GetCascadeTrajectorySteps"]).toBe(polls);
}
