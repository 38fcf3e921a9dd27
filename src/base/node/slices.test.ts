import { beforeEach, describe, expect, it } from "vitest";
import { Slices } from "./slices.ts";

let nowMs: number;
let soon: (() => void)[];
let done: string[];
let slices: Slices;

beforeEach(() => {
  nowMs = 0;
  soon = [];
  done = [];
  slices = new Slices(
    () => nowMs,
    (work) => soon.push(work),
  );
});

/** A piece of work that takes 4 ms. */
function piece(name: string): () => void {
  return () => {
    done.push(name);
    nowMs += 4;
  };
}

/** One turn of the event loop. */
function turn(): string {
  const due = soon;
  soon = [];
  done = [];
  for (const work of due) work();
  return done.join("");
}

describe("work in slices", () => {
  it("is done at once as long as the slice has room, then in order in the next turns", () => {
    for (const name of "abcdefgh") slices.run(piece(name));
    expect(done.join("")).toBe("abc");
    expect(turn()).toBe("def");
    slices.run(piece("i"));
    expect(turn()).toBe("ghi");
    expect(turn()).toBe("");
    expect(soon).toEqual([]);
  });

  it("leaves the turn to others where that is asked for", () => {
    for (const name of "abcd") slices.later(piece(name));
    expect(done).toEqual([]);
    expect([turn(), turn(), turn()]).toEqual(["abc", "d", ""]);
  });

  it("does one piece in each turn, however long it takes", () => {
    const long = (name: string) => () => {
      piece(name)();
      nowMs += 100;
    };
    for (const name of "abc") slices.later(long(name));
    expect([turn(), turn(), turn()]).toEqual(["a", "b", "c"]);
  });

  it("is done at once if the wait is over", () => {
    for (const name of "abcdefgh") slices.later(piece(name));
    slices.drain();
    expect(done.join("")).toBe("abcdefgh");
    expect(turn()).toBe("");
  });
});
