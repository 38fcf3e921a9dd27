import { expect, test } from "vitest";
import { Quotes } from "./quotes.ts";

const call = '{\n  "name": "bash",\n  "arguments": { "command": "ls" }\n}';

test.each<[string, string, string, boolean]>([
  ["stands there", `So:\n${call}\n`, call, true],
  ["stands there on one line", call, call.replaceAll(/\s+/g, " "), true],
  ["has numbers before its lines there", call.replaceAll(/^/gm, "   12\t"), call, true],
  ["has its members in another order there", '{"arguments":{"command":"ls"},"name":"bash"}', call, true],
  ["is short and stands there", 'Write `bash(command="ls")`.', 'bash(command="ls")', true],
  ["is short, and a sentence there has its words", 'The bash command (see "ls", a tool)', 'bash(command="ls")', false],
  ["has another argument there", call.replace("ls", "pwd"), call, false],
  ["has its words far apart there", call.replaceAll(" ", ` ${"more words ".repeat(60)} `), call, false],
])("a block that %s: quoted or not", (_, text, block, isQuoted) => {
  expect(new Quotes([text]).find([block]).has(block)).toBe(isQuoted);
});
