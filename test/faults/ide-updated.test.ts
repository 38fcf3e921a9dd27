import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../simulator/index.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, collect, gateway, openai, patience, simulator } from "../support/world.ts";

const size = 600;
const polls = ["GetCascadeTrajectorySteps", "GetCascadeTrajectory", "GetCascadeTranscriptForTrajectoryId"];

/** Builds with other abilities, and other field numbers. */
const builds: Readonly<Record<"before" | "after", SimulatorOptions>>[] = [
  { before: {}, after: { ideVersion: "2.3.1", schemaSeed: 7, missing: ["GetCascadeTrajectorySteps"] } },
  {
    before: { missing: ["GetCascadeTrajectorySteps"] },
    after: { ideVersion: "2.3.1", schemaSeed: 7, missing: ["GetCascadeTranscriptForTrajectoryId"] },
  },
];

test.each(builds)(
  "an IDE that is updated in the middle of an answer, to a build without $after.missing.0: the answer goes on, without a second prompt",
  async ({ before, after }) => {
    const home = temporaryHome();
    const old = await simulator({ home, ...before });
    const served = await gateway({ home, args: ["--continuity", "off"] });
    const question = { ...ask(`[[sim: size=${size} hold-after=300 thinking=0]] write`), stream: true } as const;
    const stream = await openai(served).chat.completions.create(question);
    const update = async () => {
      await old.setFaults(polls.map((rpc) => ({ rpc, hang: true }))); // only the new build shows the rest
      await old.release();
      const { messages } = await old.until(
        ({ cascades }) => cascades.some(({ turnsEnded, writing }) => turnsEnded === 1 && !writing),
        patience(),
      );
      expect(messages).toHaveLength(1);
      await old.stop();
      return await simulator({ home, ...after });
    };
    let updated: ReturnType<typeof update> | undefined;
    async function* watched() {
      for await (const chunk of stream) {
        if ((chunk.choices[0]?.delta.content ?? "") !== "") updated ??= update();
        yield chunk;
      }
    }
    const { text, reason } = await collect(watched());
    expect([text.length, reason]).toEqual([size, "stop"]);
    expect((await (await updated)?.report())?.messages).toEqual([]);
  },
);
