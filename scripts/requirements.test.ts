import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import requirements from "../docs/dev/wire/requirements.json" with { type: "json" };

const root = join(import.meta.dirname, "..");
const tests = globSync(["{src,simulator}/**/*.test.ts", "test/**/*.test.ts"], { cwd: root });
const cited = new Set<string>();
for (const file of tests) {
  const text = readFileSync(join(root, file), "utf8");
  for (const [, ids = ""] of text.matchAll(/\bproves\(\s*((?:"[\w.-]+",?\s*)+)\)/g)) {
    for (const [, id = ""] of ids.matchAll(/"([\w.-]+)"/g)) cited.add(id);
  }
}
/** What a gateway must do on the wire. `why`: which client breaks without it, and how. `untested`: why no test of ours cites it. */
const all: readonly { readonly id: string; readonly untested?: string }[] = requirements;

describe("requirements", () => {
  it("have unique ids", () => {
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  });

  it.each(all.map((requirement) => [requirement.id, requirement] as const))(
    "%s is proved, or says why not",
    (id, { untested }) => {
      expect(cited.has(id)).toBe(untested === undefined);
    },
  );

  it("are all that tests cite", () => {
    expect([...cited].filter((id) => !all.some((requirement) => requirement.id === id))).toEqual([]);
  });
});
