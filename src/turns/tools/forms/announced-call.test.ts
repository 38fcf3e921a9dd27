import { expect, it } from "vitest";
import type { Tool } from "../../../log/request.ts";
import { mapToolNames } from "../names.ts";
import { announcedCall } from "./announced-call.ts";

const tool = (name: string, parameters: Tool["parameters"], kind: Tool["kind"] = "function"): Tool => ({
  name,
  description: "",
  kind,
  parameters,
});
const names = mapToolNames([
  tool("bash", { type: "object", properties: { command: { type: "string" } }, required: ["command"] }),
  tool("now", { type: "object", properties: {} }),
  tool("apply_patch", {}, "freeform"),
]);
const found = (answer: string) => announcedCall(answer, names)?.shownName;

it.each([
  'I will now call bash with {"command": "ls"}.',
  'The folder first. I\'ll run `bash` with `{"command": "ls"}`',
  'Let me call the bash tool with these arguments:\n\n```json\n{\n  "command": "grep -n \\"{\\" a.ts"\n}\n```\n',
  'Now calling bash: {"command":"ls"}',
  'I see. So I am going to use bash now with {"command": "echo \'}\'"}',
  'Next, I will execute bash({"command":"ls"})',
])("an answer that ends in a promise of a call is one: %s", (answer) => {
  expect(found(answer)).toBe("bash");
});

it.each([
  ["no arguments", "I will now call bash."],
  ["arguments that do not fit", 'I will now call bash with {"path": "a"}.'],
  ["text after it", 'I will now call bash with {"command": "ls"}. It lists the files.'],
  ["what another program may do", 'You can call bash with {"command": "ls"}.'],
  ["what was done", 'I called bash with {"command": "ls"}.'],
  ["a tool that is not offered", 'I will now call zsh with {"command": "ls"}.'],
  ["a longer name", 'I will now call bash_2 with {"command": "ls"}.'],
  ["JSON that only follows", 'I will use bash later. This is the file: {"command": "ls"}'],
  ["a question", 'Shall I call bash with {"command": "ls"}?'],
  ["a freeform tool", 'I will now call apply_patch with {"command": "ls"}.'],
  ["nothing", ""],
])("%s is no promise of a call", (_what, answer) => {
  expect(found(answer)).toBeUndefined();
});
