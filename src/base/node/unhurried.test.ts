import { expect, it } from "vitest";
import { ownTurn } from "./unhurried.ts";

it("gives each caller a turn of the event loop of its own, in order, with turns for everything else in between", async () => {
  const seen: string[] = [];
  const over = new AbortController();
  const others = (async () => {
    for (; !over.signal.aborted; await new Promise((resolve) => setImmediate(resolve))) seen.push(".");
  })();
  await Promise.all(["a", "b", "c"].map((name) => ownTurn().then(() => seen.push(name))));
  over.abort();
  await others;
  expect(seen.join("")).toMatch(/a\.{8,}b\.{8,}c/);
});
