import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import type { Command } from "../command.ts";
import { defineCommand } from "../command.ts";
import { choice, flag, integer, ofServe, texts } from "../options.ts";
import { runMain } from "../run-main.fake.ts";
import { editToml } from "./config.ts";

function homeWith(text?: string) {
  const homeFolder = temporaryFolder();
  const file = join(homeFolder, ".millrace/config.toml");
  mkdirSync(join(homeFolder, ".millrace"));
  if (text !== undefined) writeFileSync(file, text);
  const run = (argv: readonly string[], env: Record<string, string> = {}, commands?: readonly Command[]) =>
    runMain(argv, commands, { homeFolder, env });
  return { file, run };
}

test("a setting is set, read, overridden by its variable, and removed again; comments stay", async () => {
  const { file, run } = homeWith('# mine\n[[agents]]\nname = "a" # first\ncommand = "a"\n');
  expect((await run(["config", "path"])).stdout).toBe(`${file}\n`);
  expect(await run(["config", "set", "serve.port", "42200"])).toMatchObject({ code: 0 });
  await run(["config", "set", "serve.log_level", "info"]);
  await run(["config", "set", "serve.continuity", "off"]);
  await run(["config", "set", "serve.allow_host", "one", "two"]);
  expect(readFileSync(file, "utf8")).toBe(
    '# mine\n[[agents]]\nname = "a" # first\ncommand = "a"\n\n[serve]\nallow_host = [ "one", "two" ]\ncontinuity = "off"\nlog_level = "info"\nport = 42200\n',
  );
  expect((await run(["config", "get", "serve.port"])).stdout).toBe("42200\n");
  expect((await run(["config", "get", "port"], { MILLRACE_PORT: "7" })).stdout).toBe("7\n");
  expect((await run(["config", "get"])).stdout).toMatch(new RegExp(`^serve.log_level +info +${file}$`, "m"));
  await run(["config", "set", "serve.port"]);
  expect((await run(["config", "get", "serve.port"])).stdout).toBe("42100\n");
});

test("an unknown key is an error with the nearest one, in the file and on the command line", async () => {
  const { run } = homeWith("[serve]\nprot = 1\n");
  const { code, stderr } = await run(["serve", "--port", "0"]);
  expect(code).toBe(64);
  expect(stderr).toContain('[serve] has no setting "prot".');
  expect(stderr).toContain('hint: Did you mean "port"?');
  expect((await homeWith().run(["config", "set", "serve.prot", "1"])).stderr).toContain("Did you mean serve.port?");
  expect((await homeWith().run(["config", "get", "prot"])).stderr).toContain("Did you mean serve.port?");
  expect((await homeWith().run(["config", "get", "colours"])).stderr).not.toContain("Did you mean");
});

test("a wrong value is not written, and one in the file stops serve with its place", async () => {
  const { file, run } = homeWith("[serve]\n");
  expect(await run(["config", "set", "serve.port", "high"])).toMatchObject({ code: 64 });
  expect(await run(["config", "set", "serve.continuity", "maybe"])).toMatchObject({ code: 64 });
  expect(readFileSync(file, "utf8")).toBe("[serve]\n");
  writeFileSync(file, '[serve]\ngrace = "soon"\n');
  expect((await run(["serve", "--port", "0"])).stderr).toContain(`${file}: grace of [serve]: "soon" is not a time`);
  writeFileSync(file, "[serve]\nshow_texts = true\n");
  expect((await run(["serve", "--port", "0"])).stderr).toContain(
    'show_texts of [serve]: "true" is not one of on, off.',
  );
  writeFileSync(file, "[serve]\nport = true\n");
  expect((await run(["serve", "--port", "0"])).stderr).toContain("port of [serve] cannot be true or false.");
});

test("the file sets options of serve for each command that takes them; variable and command line win", async () => {
  const { run } = homeWith('[serve]\nport = 7\nstore = "memory"\nloud = true\nnames = ["a", "b"]\n');
  const options = {
    port: integer("the port", "<port>", { min: 0, max: 9, initial: 1 }, { env: "PROBE_PORT" }),
    store: choice("the store", ["sqlite", "memory"], "sqlite"),
    loud: flag("loud"),
    names: texts("names", "<name>"),
  };
  const probe = (name: string, own: Parameters<typeof defineCommand>[0]["options"]) =>
    defineCommand({
      name,
      summary: "Shows what it was given",
      group: "Look",
      options: own,
      examples: [],
      run: ({ options: read, given }, { out }) => Promise.resolve(out.json({ ...read, given: [...given] })),
    });
  const shown = async (argv: readonly string[], env?: Record<string, string>) => {
    const commands = [probe("serve", options), probe("ask", ofServe({ port: options.port })), probe("other", options)];
    return JSON.parse((await run(argv, env, commands)).stdout) as unknown;
  };
  const all = { store: "memory", loud: true, names: ["a", "b"], given: ["port", "store", "loud", "names"] };
  expect(await shown(["serve"])).toEqual({ port: 7, ...all });
  expect(await shown(["serve"], { PROBE_PORT: "8" })).toEqual({ port: 8, ...all });
  expect(await shown(["serve", "--port", "9"], { PROBE_PORT: "8" })).toEqual({ port: 9, ...all });
  expect(await shown(["ask"])).toEqual({ port: 7, given: ["port"] });
  expect(await shown(["other"])).toMatchObject({ port: 1, given: [] });
});

test("a file whose line cannot be changed by itself is left alone", () => {
  expect(editToml("[serve]\nport = 1 # why\n[other]\n", "serve", "port", 2)).toBe("[serve]\nport = 2\n[other]\n");
  expect(editToml("[other]\na = 1\n\n[serve]\nport = 1\n", "serve", "port", undefined)).toBe("[other]\na = 1\n\n");
  expect(editToml("[serve]\n# mine\nport = 1\n", "serve", "port", undefined)).toBe("[serve]\n# mine\n");
  expect(editToml("# mine\r\n[serve]\r\nport = 1\r\n", "serve", "port", 2)).toBe("# mine\r\n[serve]\r\nport = 2\r\n");
  expect(() => editToml("serve = { port = 1 }\n", "serve", "port", 2)).toThrow("cannot be changed by itself");
  expect(() => editToml('[serve]\nallow_host = [\n  "a",\n]\n', "serve", "allow_host", ["b"])).toThrow(
    "cannot be changed",
  );
});
