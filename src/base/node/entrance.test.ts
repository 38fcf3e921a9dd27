import { beforeEach, describe, expect, it } from "vitest";
import { idle } from "../wait.fake.ts";
import { Entrance } from "./entrance.ts";

let nowMs: number;
let soon: (() => void)[];
let begun: string[];
let through: Map<string, () => void>;
let entrance: Entrance;

beforeEach(() => {
  nowMs = 0;
  soon = [];
  begun = [];
  through = new Map();
  entrance = new Entrance({ few: 2, longestMs: 100, now: () => nowMs, soon: (work) => soon.push(work) });
});

function ask(...names: string[]): void {
  for (const name of names) {
    void entrance.pass(() => {
      begun.push(name);
      return new Promise<void>((resolve) => through.set(name, resolve));
    });
  }
}

/** The next look, so much later; then all that was let in begins. */
async function look(tookMs: number): Promise<string> {
  nowMs += tookMs;
  const due = soon;
  soon = [];
  for (const work of due) work();
  await idle();
  return begun.join("");
}

describe("an entrance", () => {
  it("lets a few in at once, and the next one when one of them is through", async () => {
    ask("a", "b", "c", "d");
    expect(begun.join("")).toBe("ab");
    through.get("b")?.();
    expect(await look(20)).toBe("abc");
    through.get("a")?.();
    expect(await look(20)).toBe("abcd");
  });

  it("lets one more in at each look that shows little to do", async () => {
    ask("a", "b", "c", "d", "e");
    expect(await look(20)).toBe("ab");
    expect(await look(1.2)).toBe("abc");
    expect(await look(20)).toBe("abc");
    expect(await look(1.2)).toBe("abcd");
  });

  it("keeps nobody waiting for longer than its limit, however busy the loop is", async () => {
    ask("a", "b", "c");
    nowMs = 60;
    ask("d");
    expect(await look(40)).toBe("abc");
    expect(await look(60)).toBe("abcd");
  });

  it("lets the next one in after a piece that failed, and looks at nothing while nobody waits", async () => {
    await expect(entrance.pass(() => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
    ask("a", "b");
    expect(begun.join("")).toBe("ab");
    expect(soon).toEqual([]);
  });
});
