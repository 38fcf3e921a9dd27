import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isMillraceError, type MillraceError } from "../base/errors.ts";
import { type BuildTypes, ourFiles, ourTypes, wireType } from "./build-types.ts";
import { bundleStyles, usualSpelling, writeBundle } from "./bundle.fake.ts";
import { readBundle } from "./read-bundle.ts";
import { shifted } from "./shifted.fake.ts";

/** What a reader must find in a bundle of this schema. */
function typesOf(types: ReturnType<typeof ourTypes>): BuildTypes {
  const messages = new Map();
  const enums = new Map();
  for (const type of types) {
    if (type.kind === "message") {
      const fields = type.fields.map((field) => [field.name, { number: field.number, type: wireType(field) }] as const);
      messages.set(type.typeName, new Map(fields));
    } else enums.set(type.typeName, new Map(type.values.map(({ name, number }) => [name, number])));
  }
  return { messages, enums };
}

const spelling = fc.record({
  quote: fc.constantFrom<'"' | "'" | "`">('"', "'", "`"),
  words: fc.boolean(),
  scalarNames: fc.boolean(),
  lazyTypes: fc.boolean(),
  functions: fc.boolean(),
});

describe.each(bundleStyles)("a bundle in the style %s", (style) => {
  it("gives back every number and type of the schema that we speak, in any spelling", async () => {
    await fc.assert(
      fc.asyncProperty(spelling, async (spelled) => {
        expect(await readBundle(writeBundle(ourFiles(), style, spelled))).toEqual(typesOf(ourTypes()));
      }),
      { numRuns: 4 },
    );
  });

  it("gives back the numbers of a build that has others", async () => {
    const { files } = shifted(ourFiles(), { field: (_, __, number) => number + 700, value: (_, __, number) => number });
    const source = writeBundle(
      [...files].filter(({ proto }) => proto.package.startsWith("exa.")),
      style,
      usualSpelling,
    );
    const { messages } = await readBundle(source);
    const metadata = messages.get("exa.codeium_common_pb.Metadata");
    expect(metadata?.get("api_key")).toEqual({ number: 703, type: "STRING" });
  });
});

const list = (entries: string) => `r.proto3.util.newFieldList(()=>[${entries}])`;
const metadata = (fields: string) =>
  `class q extends r.Message{static typeName="exa.codeium_common_pb.Metadata";static fields=${fields}}`;

describe("a definition", () => {
  it("is read where short names mean something else in each module, since no name is resolved", async () => {
    const inModules = `var e={1:(e,t,i)=>{var n=i(9);${metadata(list('{no:5,name:"api_key",kind:"scalar",T:9}'))}},9:function(e,t){class q{}}};`;
    const { messages } = await readBundle(inModules);
    expect([...(messages.get("exa.codeium_common_pb.Metadata") ?? [])]).toEqual([
      ["api_key", { number: 5, type: "STRING" }],
    ]);
  });

  it("that stands first is the one that holds, and a mention of its name is none", async () => {
    const source = [
      'f("exa.codeium_common_pb.Metadata");var s={typeName:"exa.codeium_common_pb.Metadata"};',
      metadata(list('{no:1,name:"ide_name",kind:"scalar",T:9}')),
      metadata(list('{no:2,name:"ide_name",kind:"scalar",T:9}')),
    ].join("\n");
    const { messages } = await readBundle(source);
    expect(messages.get("exa.codeium_common_pb.Metadata")?.get("ide_name")?.number).toBe(1);
  });

  it("does not take the list of another message", async () => {
    const bare = 'class e{static typeName="exa.codeium_common_pb.Metadata"}';
    const other = `class o{static typeName="exa.other.O";static fields=${list('{no:1,name:"a",kind:"scalar",T:9}')}}`;
    expect((await refusal(bare + other))?.message).toContain("no protobuf");
  });

  it("leaves out a field without a number or a name, and keeps the others", async () => {
    const fields = '{no:0,name:"a",kind:"scalar",T:9},{name:"b"},{no:3,name:"c",kind:"message",T:n.C,repeated:!0}';
    const { messages } = await readBundle(metadata(list(fields)));
    expect([...(messages.get("exa.codeium_common_pb.Metadata") ?? [])]).toEqual([
      ["c", { number: 3, type: "repeated message" }],
    ]);
  });
});

describe("what is no bundle", () => {
  const whole = writeBundle(ourFiles(), "static");

  it.each([
    ["nothing", "", "no protobuf"],
    ["another program", "console.log(1)", "no protobuf"],
    ["HTML", "<!doctype html><p>", "no protobuf"],
    ["a bundle cut off in a list", whole.slice(0, whole.lastIndexOf("newFieldList") + 60), "is not JavaScript"],
    ["lists nested beyond measure", metadata(list("[".repeat(200_000))), "is not JavaScript"],
  ])("is refused, saying why: %s", async (_, source, why) => {
    const error = await refusal(source);
    expect(error?.code).toBe("invalid_request");
    expect(error?.message).toContain(why);
  });

  it("never makes it fail in another way, for any cut and any insertion", async () => {
    const small = writeBundle(ourFiles().slice(0, 1), "modules");
    await fc.assert(
      fc.asyncProperty(fc.nat(small.length), fc.nat(200), fc.string({ maxLength: 20 }), async (at, length, junk) => {
        const error = await refusal(small.slice(0, at) + junk + small.slice(at + length));
        expect(error?.code ?? "invalid_request").toBe("invalid_request");
      }),
      { numRuns: 20 },
    );
  });
});

async function refusal(source: string): Promise<MillraceError | undefined> {
  try {
    await readBundle(source);
    return undefined;
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
}
