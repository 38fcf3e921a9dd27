import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { APIError } from "openai";
import { expect, test } from "vitest";
import type { CascadeReport } from "../../simulator/index.ts";
import { eventsOf } from "../cut/exchange.ts";
import { ask, patience, world } from "../support/world.ts";

const size = 600;
const polls = ["GetCascadeTrajectorySteps", "GetCascadeTrajectory", "GetCascadeTranscriptForTrajectoryId"];

/**
 * An answer of which the gateway has the beginning while the IDE has all of it; then the IDE dies and comes back with another port
 * and token. `meanwhile` runs while it is down.
 */
async function restartedInTheMiddle(meanwhile: (cascades: string) => void) {
  const { client, ide, served } = await world({ args: ["--continuity", "off"] });
  const before = [ide.port, ide.csrfToken.reveal()];
  const { data: stream, response } = await client.chat.completions
    .create({ ...ask(`[[sim: size=${size} hold-after=300 thinking=0]] write`), stream: true })
    .withResponse();
  let text = "";
  let atRestart = "";
  let failure: unknown;
  let restarted: Promise<void> | undefined;
  const restart = async () => {
    await ide.setFaults(polls.map((rpc) => ({ rpc, csrf: true }))); // as from a server that is another one by now
    atRestart = text;
    await ide.release();
    const isOnDisk = ({ turnsEnded, writing }: CascadeReport) => turnsEnded === 1 && !writing;
    const { messages } = await ide.until(({ cascades }) => cascades.some(isOnDisk), patience());
    expect(messages).toHaveLength(1);
    meanwhile(ide.layout.cascades);
    await ide.restart({ crash: true });
    await ide.setFaults([]); // only the new server ever shows the rest
  };
  try {
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (text.length > 20) restarted ??= restart();
    }
  } catch (error) {
    failure = error;
  }
  await restarted;
  expect([ide.port, ide.csrfToken.reveal()]).not.toEqual(before);
  expect(atRestart.length).toBeLessThan(size);
  expect((await ide.report()).messages).toEqual([]); // none since the restart
  const headers = { authorization: `Bearer ${served.key}` };
  const turn = `${served.url}/v1/turns/${response.headers.get("x-millrace-turn")}`;
  const events = eventsOf(await (await fetch(`${turn}/events`, { headers })).text());
  const kept = events
    .filter(({ event }) => event === "text")
    .map(({ data }) => (JSON.parse(data) as { delta: string }).delta)
    .join("");
  return { ide, text, kept, failure, ends: events.at(-1) };
}

test("an answer continues from the trajectory that a restarted IDE kept, over its new port and token, without a second prompt", async () => {
  const { ide, text, kept, failure, ends } = await restartedInTheMiddle(() => {});
  expect(failure).toBeUndefined();
  expect([text.length, kept, ends?.event]).toEqual([size, text, "finished"]);
  const report = await ide.until(({ cascades }) => cascades.every(({ archived }) => archived), patience());
  expect(report.cascades).toHaveLength(1);
});

test("an answer whose trajectory a restarted IDE has lost fails in words, keeps what was received, and is not asked for again", async () => {
  const { ide, text, kept, failure, ends } = await restartedInTheMiddle((cascades) => {
    for (const name of readdirSync(cascades)) rmSync(join(cascades, name));
  });
  if (!(failure instanceof APIError)) throw new Error(`it did not fail as the API says: ${String(failure)}`);
  expect(failure.code).toBe("upstream_failed");
  expect(failure.message).toMatch(/conversation|trajectory/i);
  expect([kept, ends?.event]).toEqual([text, "failed"]);
  expect(text.length).toBeGreaterThan(20);
  expect((await ide.report()).startedCascades).toBe(0);
});

test("an IDE that ends in the middle of an answer and stays away: the error says to start it, and what a new request costs", async () => {
  const { client, ide } = await world();
  const stream = await client.chat.completions.create({ ...ask("[[sim: size=20000 rate=100]] write"), stream: true });
  let text = "";
  const reading = (async () => {
    for await (const chunk of stream) {
      if (text === "") process.kill(ide.pid, "SIGKILL");
      text += chunk.choices[0]?.delta.content ?? "";
    }
  })();
  await expect(reading).rejects.toMatchObject({
    code: "upstream_failed",
    message: expect.stringMatching(/did not come back.*Start the IDE.*costs another prompt/s) as string,
  });
});
