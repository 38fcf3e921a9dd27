import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import { writeBundle } from "./bundle.fake.ts";
import { openSchemas } from "./open-schemas.ts";
import { readSchema } from "./read-schema.ts";

const never = new AbortController().signal;
const note = writeBundle([LanguageServerService.file.dependencies[1] ?? LanguageServerService.file], "make");
let folder: string;
let bundlePath: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-schema-"));
  bundlePath = join(folder, "extension.js");
  await writeFile(bundlePath, 'var q=class{static typeName="exa.a_pb.B";static fields=r.newFieldList(()=>[])}');
});
afterEach(() => rm(folder, { recursive: true }));

/** Reads in this thread, and counts. */
function counting() {
  const state = { reads: 0 };
  const readBundle = async (path: string) => {
    state.reads++;
    const { set, problems } = readSchema(await readFile(path, "utf8"));
    return { set: toBinary(FileDescriptorSetSchema, set), problems };
  };
  return { state, readBundle };
}

describe("schemas of builds", () => {
  it("are read once, by all who ask together and later, and after a restart from what was kept", async () => {
    const { state, readBundle } = counting();
    const cacheFolder = join(folder, "cache");
    const schemas = openSchemas({ cacheFolder, readBundle });
    const [first, second] = await Promise.all([schemas.read(bundlePath, never), schemas.read(bundlePath, never)]);
    expect(second).toBe(first);
    expect(await schemas.read(bundlePath, never)).toBe(first);
    const afterRestart = await openSchemas({ cacheFolder, readBundle }).read(bundlePath, never);
    expect(afterRestart.registry.getMessage("exa.a_pb.B")?.name).toBe("B");
    expect(state.reads).toBe(1);
  });

  it("are read again when the bundle changed, and not when it was only touched", async () => {
    const { state, readBundle } = counting();
    const schemas = openSchemas({ cacheFolder: join(folder, "cache"), readBundle });
    const first = await schemas.read(bundlePath, never);
    await utimes(bundlePath, 1, 1);
    expect((await schemas.read(bundlePath, never)).digest).toBe(first.digest);
    expect(state.reads).toBe(1);
    await writeFile(bundlePath, note);
    expect((await schemas.read(bundlePath, never)).digest).not.toBe(first.digest);
    expect(state.reads).toBe(2);
  });

  it("are read again where what was kept is damaged, and where it cannot be kept at all", async () => {
    const { state, readBundle } = counting();
    const cacheFolder = join(folder, "cache");
    await openSchemas({ cacheFolder, readBundle }).read(bundlePath, never);
    for (const name of await readdir(cacheFolder)) await writeFile(join(cacheFolder, name), '{"set":"AAAA","pro');
    await openSchemas({ cacheFolder, readBundle }).read(bundlePath, never);
    expect(state.reads).toBe(2);
    const blocked = openSchemas({ cacheFolder: join(bundlePath, "no-folder"), readBundle });
    expect((await blocked.read(bundlePath, never)).problems).toEqual([]);
    expect(state.reads).toBe(3);
  });

  it("that are not there are an error that says where was looked", async () => {
    const schemas = openSchemas({ cacheFolder: undefined });
    await expect(schemas.read(join(folder, "none.js"), never)).rejects.toThrow(join(folder, "none.js"));
  });
});

describe("the thread that reads", () => {
  it("gives what reading here gives, and its errors", async () => {
    const schemas = openSchemas({ cacheFolder: undefined });
    expect((await schemas.read(bundlePath, never)).registry.getMessage("exa.a_pb.B")).toBeDefined();
    await writeFile(bundlePath, "<html>");
    await expect(schemas.read(bundlePath, never)).rejects.toMatchObject({ code: "invalid_request" });
  });

  it("is ended by its caller", async () => {
    await writeFile(bundlePath, `a(${"[1,".repeat(300)}${"]".repeat(300)});`.repeat(20_000));
    const controller = new AbortController();
    const reading = openSchemas({ cacheFolder: undefined }).read(bundlePath, controller.signal);
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});
