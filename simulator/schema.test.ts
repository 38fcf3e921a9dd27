import { runInNewContext } from "node:vm";
import type { DescMessage, FileRegistry } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { MetadataSchema } from "../src/proto/windsurf/exa/codeium_common_pb.ts";
import { extensionBundle } from "./schema/bundle.ts";
import { schemaFiles, shiftedSchema } from "./schema/shift.ts";

/** A field as protobuf-es v1 lists it. */
interface ListedField {
  readonly no: number;
  readonly name: string;
  readonly kind: string;
  readonly repeated?: boolean;
  readonly opt?: boolean;
  readonly oneof?: string;
}
type Bundle = Record<string, { readonly typeName: string; readonly fields: { readonly list: () => ListedField[] } }>;

function numbersOf(message: DescMessage): Record<string, number> {
  return Object.fromEntries(message.fields.map((field) => [field.name, field.number]));
}

/** Runs a bundle as Node would, for what its entry exports. */
function evaluate(code: string): Bundle {
  const module = { exports: {} };
  runInNewContext(code, { module });
  return module.exports;
}

describe("a shifted schema", () => {
  it("moves most numbers and keeps names, types and the set of numbers", () => {
    const before = MetadataSchema;
    const after = shiftedSchema(7).getMessage(before.typeName);
    if (after === undefined) throw new Error("the message is gone");
    const numbers = numbersOf(before);
    const moved = after.fields.filter((field) => field.number !== numbers[field.name]);
    expect(moved.length).toBeGreaterThan(before.fields.length / 2);
    expect(new Set(after.fields.map((field) => field.number))).toEqual(new Set(Object.values(numbers)));
    expect(after.fields.map((field) => [field.name, field.fieldKind])).toEqual(
      expect.arrayContaining(before.fields.map((field) => [field.name, field.fieldKind])),
    );
  });

  it("is the same for the same seed, and another for another", () => {
    const numbers = (schema: FileRegistry) =>
      schema.getMessage(MetadataSchema.typeName)?.fields.map((field) => field.number);
    expect(numbers(shiftedSchema(7))).toEqual(numbers(shiftedSchema(7)));
    expect(numbers(shiftedSchema(8))).not.toEqual(numbers(shiftedSchema(7)));
  });
});

describe("the extension's bundle", () => {
  it.each([0, 7])("is code that runs and says the numbers of its schema (seed %i)", (seed) => {
    const files = seed === 0 ? schemaFiles() : [...shiftedSchema(seed).files];
    const exported = evaluate(extensionBundle(files));
    const messages = files.at(-1)?.messages ?? [];
    expect(messages.length).toBeGreaterThan(40);
    for (const message of messages) {
      const listed = exported[message.name];
      expect(listed?.typeName).toBe(message.typeName);
      expect(Object.fromEntries(listed?.fields.list().map((field) => [field.name, field.no]) ?? [])).toEqual(
        numbersOf(message),
      );
    }
    const send = exported["SendUserCascadeMessageRequest"]?.fields.list();
    expect(send?.find((field) => field.name === "items")).toMatchObject({ kind: "message", repeated: true });
    const all = exported["GetAllCascadeTrajectoriesRequest"]?.fields.list();
    expect(all).toMatchObject([{ name: "include_user_inputs", kind: "scalar", T: 8, opt: true }]);
    const summaries = exported["GetAllCascadeTrajectoriesResponse"]?.fields.list();
    expect(summaries?.find((field) => field.kind === "map")).toMatchObject({ K: 9, V: { kind: "message" } });
  });
});
