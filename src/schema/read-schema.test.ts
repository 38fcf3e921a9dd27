import type { DescFile } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isMillraceError, type MillraceError } from "../base/errors.ts";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import { bundleStyles, usualSpelling, writeBundle } from "./bundle.fake.ts";
import { filesOf, normalForm } from "./normal-form.fake.ts";
import { randomSchema } from "./random-schema.fake.ts";
import { readSchema, registryOf } from "./read-schema.ts";

const ours = closure(LanguageServerService.file);

/** A file and all it imports, imports first. */
function closure(file: DescFile, seen = new Set<DescFile>()): readonly DescFile[] {
  if (seen.has(file) || file.proto.package.startsWith("google.")) return [];
  seen.add(file);
  return [...file.dependencies.flatMap((dependency) => closure(dependency, seen)), file];
}

function readBack(source: string) {
  const schema = readSchema(source);
  return { form: normalForm(filesOf(registryOf(schema))), problems: schema.problems };
}

const spelling = fc.record({
  quote: fc.constantFrom<'"' | "'" | "`">('"', "'", "`"),
  words: fc.boolean(),
  scalarNames: fc.boolean(),
  lazyTypes: fc.boolean(),
  functions: fc.boolean(),
  kindNumbers: fc.boolean(),
});

describe.each(bundleStyles)("a bundle in the style %s", (style) => {
  it("gives back any schema that was written into it", () => {
    fc.assert(
      fc.property(randomSchema, spelling, (files, spelled) => {
        expect(readBack(writeBundle(files, style, spelled))).toEqual({ form: normalForm(files), problems: [] });
      }),
      { numRuns: 12 },
    );
  });

  it("gives back the whole schema that we speak", () => {
    expect(readBack(writeBundle(ours, style, usualSpelling))).toEqual({ form: normalForm(ours), problems: [] });
  });
});

describe("the example of the facts", () => {
  const example = `
var q=class e extends r.Message{constructor(t){super(),this.title="",this.tags=[],this.body={case:void 0},r.proto3.util.initPartial(t,this)}
static runtime=r.proto3;static typeName="exa.demo_pb.Note";static fields=r.proto3.util.newFieldList(()=>[
{no:1,name:"title",kind:"scalar",T:9},{no:3,name:"tags",kind:"scalar",T:9,repeated:!0},
{no:16,name:"created_at",kind:"message",T:r.Timestamp},{no:17,name:"mood",kind:"enum",T:r.proto3.getEnumType(M)},
{no:20,name:"text",kind:"scalar",T:9,oneof:"body"},{no:21,name:"image",kind:"message",T:I,oneof:"body"},
{no:30,name:"labels",kind:"map",K:9,V:{kind:"scalar",T:5}},{no:35,name:"parent",kind:"message",T:e,opt:!0}])};
var I=class extends r.Message{static typeName="exa.demo_pb.Image";static fields=r.proto3.util.newFieldList(()=>[])};
var E=class extends r.Message{static typeName="exa.demo_pb.Empty";static fields=r.proto3.util.newFieldList(()=>[])};
var M;(function(t){t[t.UNSPECIFIED=0]="UNSPECIFIED",t[t.CALM=1]="CALM"})(M||(M={}));
r.proto3.util.setEnumType(M,"exa.demo_pb.Mood",[{no:0,name:"MOOD_UNSPECIFIED"},{no:1,name:"MOOD_CALM"}]);
var S={typeName:"exa.demo_pb.NoteService",methods:{addNote:{name:"AddNote",I:q,O:E,kind:r.MethodKind.Unary}}};`;

  it("is read to the last field", () => {
    const { form, problems } = readBack(example);
    expect(problems).toEqual([]);
    expect(Object.keys(form).toSorted()).toEqual([
      "exa.demo_pb.Empty",
      "exa.demo_pb.Image",
      "exa.demo_pb.Mood",
      "exa.demo_pb.Note",
      "exa.demo_pb.NoteService",
    ]);
    expect(form["exa.demo_pb.Note"]).toMatchObject({
      fields: [
        { number: 1, name: "title", type: 9 },
        { number: 3, kind: "list", packed: false },
        { number: 16, type: "google.protobuf.Timestamp" },
        { number: 17, type: "exa.demo_pb.Mood" },
        { number: 20, oneof: "body" },
        { number: 21, oneof: "body", type: "exa.demo_pb.Image" },
        { number: 30, kind: "map", key: 9, type: 5 },
        { number: 35, optional: true, type: "exa.demo_pb.Note" },
      ],
    });
  });

  it("is read except for its bad parts, which are reported", () => {
    const { form, problems } = readBack(example.replace("T:I,", "T:nowhere,").replace("K:9", "K:99"));
    expect(form["exa.demo_pb.Note"]).toMatchObject({ fields: { length: 6 } });
    expect(problems.map(({ where }) => where)).toEqual(["exa.demo_pb.Note.image", "exa.demo_pb.Note.labels"]);
  });
});

describe("what is no bundle", () => {
  const whole = writeBundle(ours, "static");

  it.each([
    ["nothing", "", "no protobuf"],
    ["another program", "console.log(1)", "no protobuf"],
    ["HTML", "<!doctype html><p>", "not JavaScript"],
    ["binary", "\u0000\u0001\u0002", "not JavaScript"],
    ["a bundle cut off", whole.slice(0, whole.length / 2), "not JavaScript"],
    ["code nested beyond measure", "[".repeat(200_000), "nested too deeply"],
  ])("is refused, saying why: %s", (_, source, why) => {
    const error = refusal(source);
    expect(error?.code).toBe("invalid_request");
    expect(error?.message).toContain(why);
  });

  it("never makes it hang or fail in another way, for any cut and any insertion", () => {
    const small = writeBundle(ours.slice(0, 1), "modules");
    fc.assert(
      fc.property(fc.nat(small.length), fc.nat(200), fc.string({ maxLength: 20 }), (at, length, junk) => {
        const error = refusal(small.slice(0, at) + junk + small.slice(at + length));
        expect(error?.code ?? "invalid_request").toBe("invalid_request");
      }),
      { numRuns: 20 },
    );
  });
});

function refusal(source: string): MillraceError | undefined {
  try {
    readSchema(source);
    return undefined;
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
}
