import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ModelSchema } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import { diffSchemas, missingValues } from "./diff.ts";
import { type Shift, shifted } from "./shifted.fake.ts";

const files = [LanguageServerService.file];
const asIs: Shift = { field: (_, __, number) => number, value: (_, __, number) => number };
const ours = shifted(files, asIs);

describe("diffSchemas", () => {
  it("of a schema and itself is nothing", () => {
    expect(diffSchemas(ours, ours)).toEqual([]);
  });

  it("lists moved, removed and added parts", () => {
    const next = shifted(files, {
      field(typeName, name, number) {
        if (typeName.endsWith(".StartCascadeResponse") && name === "cascade_id") return 9;
        return name === "arena_cascade_ids" ? undefined : number;
      },
      value: (_, name, number) => (name === "CASCADE_RUN_STATUS_BUSY" ? 40 : number),
    });
    const where = "exa.language_server_pb.StartCascadeResponse";
    expect(diffSchemas(ours, next)).toEqual([
      {
        name: "exa.cortex_pb.CascadeRunStatus.CASCADE_RUN_STATUS_BUSY",
        what: "value",
        change: "moved",
        before: "= 4",
        after: "= 40",
      },
      { name: `${where}.arena_cascade_ids`, what: "field", change: "removed", before: "repeated string = 2" },
      { name: `${where}.cascade_id`, what: "field", change: "moved", before: "string = 1", after: "string = 9" },
    ]);
    expect(diffSchemas(next, ours).map(({ change }) => change)).toEqual(["moved", "added", "moved"]);
  });

  it("lists the reverse when the builds are swapped", () => {
    const turned = { added: "removed", removed: "added", moved: "moved", changed: "changed" } as const;
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 50 }), (every) => {
        const next = shifted(files, {
          ...asIs,
          field: (_, __, n) => (n % every === 0 ? undefined : n % every === 1 ? n + 900 : n),
        });
        const there = diffSchemas(ours, next).map(({ name, change }) => `${name} ${change}`);
        const back = diffSchemas(next, ours).map(({ name, change }) => `${name} ${turned[change]}`);
        expect(back).toEqual(there);
      }),
      { numRuns: 5 },
    );
  });
});

it("values that our catalogue lacks are listed", () => {
  const theirs = shifted(files, asIs).getEnum(ModelSchema.typeName);
  expect(theirs === undefined ? undefined : missingValues(ModelSchema, theirs)).toEqual([]);
  const half = { ...ModelSchema, values: ModelSchema.values.slice(0, 3) };
  expect(missingValues(half, ModelSchema)).toHaveLength(ModelSchema.values.length - 3);
});
