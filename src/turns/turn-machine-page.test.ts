import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { transitions } from "./decide.ts";

test("the page on the turn machine shows the table that the code has", async () => {
  const page = await readFile(join(import.meta.dirname, "../../docs/dev/turn-machine.md"), "utf8");
  const shown = page.slice(page.indexOf("<!-- transitions -->")).split("\n").slice(1);
  const rows = shown.slice(0, shown.indexOf("")).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const inputs = Object.keys(transitions.created);
  const expected = Object.entries(transitions).map(([state, row]) => [state, ...Object.values(row)]);
  expect([rows[0], ...rows.slice(2)]).toEqual([["state", ...inputs], ...expected]);
});
