import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import type { IdeFinder, TraceEntry } from "../../ide/ide.ts";
import { openSchemas } from "../../schema/open-schemas.ts";
import { ideVerdicts } from "./ide-verdicts.ts";

const rejected: TraceEntry = {
  stage: "candidates",
  subject: "process 815",
  rule: "owner",
  verdict: "rejected",
  why: "it belongs to another user",
};

const noSchemas = openSchemas();

function finderWith(find: IdeFinder["find"]): IdeFinder {
  return { find, invalidate() {}, connect: () => Promise.reject(new Error("there is none")), close() {} };
}

describe("the verdicts on IDEs", () => {
  it("are doctor's, with what was not taken, and while something is wrong, are looked for every three seconds for all who ask", async () => {
    const clock = new FakeClock();
    let looks = 0;
    const { read: verdicts, mark } = ideVerdicts(
      finderWith(() => {
        looks++;
        return Promise.resolve({ ides: [], agents: [], trace: [rejected], atMs: 0 });
      }),
      noSchemas,
      { clock, isAlive: () => true },
    );
    const [first, second] = await Promise.all([verdicts(), verdicts()]);
    expect(second).toBe(first);
    expect(first).toMatchObject({
      object: "ides",
      data: [],
      findings: [
        { level: "error", what: expect.stringMatching(/^Devin Desktop \(formerly Windsurf\) does not run here/) },
      ],
      rejected: [{ subject: "process 815", why: "it belongs to another user" }],
    });
    const before = looks;
    await clock.advance(2_900);
    await verdicts();
    expect(looks).toBe(before);
    await clock.advance(100);
    await verdicts();
    expect(looks).toBeGreaterThan(before);
    expect(mark()).toBe("1"); // the first look; the second found the same
  });

  it("are looked for again at once after a look that failed", async () => {
    let fails = true;
    const { read: verdicts } = ideVerdicts(
      finderWith(() =>
        fails ? Promise.reject(new Error("no /proc")) : Promise.resolve({ ides: [], agents: [], trace: [], atMs: 0 }),
      ),
      noSchemas,
      { clock: new FakeClock(), isAlive: () => true },
    );
    await expect(verdicts()).rejects.toThrow("no /proc");
    fails = false;
    await expect(verdicts()).resolves.toMatchObject({ data: [] });
  });
});
