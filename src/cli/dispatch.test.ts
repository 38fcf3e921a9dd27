import { expect, test } from "vitest";
import { defineCommand } from "./command.ts";
import { buildProgram } from "./dispatch.ts";
import { flag } from "./options.ts";

async function parsed(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const command = defineCommand({
    name: "try",
    group: "Use",
    summary: "Nothing",
    arguments: [{ name: "turn", summary: "one", required: false, variadic: false }],
    options: { noRecord: flag("keep none", { env: "TRY_NO_RECORD" }), json: flag("print JSON") },
    examples: [],
    run: () => Promise.resolve(0),
  });
  let options: unknown;
  const ignore = () => undefined;
  const found = (_: unknown, input: { readonly options: unknown }) => {
    options = input.options;
    return Promise.resolve();
  };
  const port = { env, version: "1", write: ignore, problem: ignore, found };
  await buildProgram([command], port).parseAsync(["try", ...args], { from: "user" });
  return options;
}

test("a flag whose name says no is on where it is given, or its variable is, and off otherwise", async () => {
  expect(await parsed([])).toEqual({ noRecord: false, json: false });
  expect(await parsed(["--no-record"])).toEqual({ noRecord: true, json: false });
  expect(await parsed(["--json"], { TRY_NO_RECORD: "1" })).toEqual({ noRecord: true, json: true });
  expect(await parsed(["--no-record"], { TRY_NO_RECORD: "0" })).toEqual({ noRecord: true, json: false });
});

test("an empty argument is refused: it would be taken for none, or for a name", async () => {
  await expect(parsed([""])).rejects.toMatchObject({ code: "invalid_request", message: "The turn is empty." });
});

test("the usage of a command breaks between words on a narrow terminal", async () => {
  const command = defineCommand({
    name: "a-command-with-a-name",
    group: "Use",
    summary: "Nothing",
    options: {},
    examples: [],
    run: () => Promise.resolve(0),
  });
  let help = "";
  const found = () => Promise.resolve();
  const write = (text: string) => (help += text);
  const program = buildProgram([command], { env: {}, version: "1", write, problem: () => {}, found, columns: 40 });
  await expect(program.parseAsync(["a-command-with-a-name", "--help"], { from: "user" })).rejects.toMatchObject({
    exitCode: 0,
  });
  expect(help).toMatch(/^Usage: millrace a-command-with-a-name\n {7}\[options\]/);
});
