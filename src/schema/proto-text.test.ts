import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createFileRegistry, type DescFile, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import { writeBundle } from "./bundle.fake.ts";
import { normalForm } from "./normal-form.fake.ts";
import { protoText } from "./proto-text.ts";
import { readSchema, registryOf } from "./read-schema.ts";

const buf = join(import.meta.dirname, "../../node_modules/.bin/buf");

function own(files: Iterable<DescFile>): readonly DescFile[] {
  return [...files].filter((file) => !file.proto.package.startsWith("google."));
}

function withImports(file: DescFile, seen = new Set<DescFile>()): readonly DescFile[] {
  if (seen.has(file)) return [];
  seen.add(file);
  return [...file.dependencies.flatMap((dependency) => withImports(dependency, seen)), file];
}

describe("proto text", () => {
  it("is what people write", () => {
    const registry = registryOf(
      readSchema(`
var E;r.proto3.util.setEnumType(E,"exa.demo_pb.Note.Mood",[{no:0,name:"MOOD_UNSPECIFIED"}]);
class N{static typeName="exa.demo_pb.Note";static fields=r.proto3.util.newFieldList(()=>[
{no:1,name:"title",kind:"scalar",T:9},{no:2,name:"at",kind:"message",T:r.Timestamp,repeated:!0},{no:3,name:"note",kind:"message",T:N,opt:!0},
{no:4,name:"a",kind:"scalar",T:13,oneof:"body"},{no:5,name:"b",kind:"enum",T:r.proto3.getEnumType(E),oneof:"body"},
{no:6,name:"notes",kind:"map",K:9,V:{kind:"message",T:N}},{no:7,name:"n",kind:"scalar",T:5,repeated:!0,packed:!1}])}
var S={typeName:"exa.demo_pb.Notes",methods:{add:{name:"Add",I:N,O:N,kind:1}}};`),
    );
    expect(own(registry.files).map(protoText)).toEqual([
      `syntax = "proto3";

package exa.demo_pb;

import "google/protobuf/timestamp.proto";

message Note {
  string title = 1;
  repeated .google.protobuf.Timestamp at = 2;
  optional .exa.demo_pb.Note note = 3;
  oneof body {
    uint32 a = 4;
    .exa.demo_pb.Note.Mood b = 5;
  }
  map<string, .exa.demo_pb.Note> notes = 6;
  repeated int32 n = 7 [packed = false];
  enum Mood {
    MOOD_UNSPECIFIED = 0;
  }
}

service Notes {
  rpc Add(.exa.demo_pb.Note) returns (stream .exa.demo_pb.Note);
}
`,
    ]);
  });

  it.runIf(existsSync(buf))("of the whole schema compiles to that schema", () => {
    const files = own(withImports(LanguageServerService.file));
    const read = registryOf(readSchema(writeBundle(files, "modules")));
    const folder = mkdtempSync(join(tmpdir(), "millrace-proto-"));
    try {
      writeFileSync(join(folder, "buf.yaml"), "version: v2\n");
      for (const file of own(read.files)) {
        const path = join(folder, file.proto.name);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, protoText(file));
      }
      const image = execFileSync(buf, ["build", "--as-file-descriptor-set", "-o", "-#format=binpb"], { cwd: folder });
      const compiled = createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
      expect(normalForm(own(compiled.files))).toEqual(normalForm(files));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
