import { expect, it } from "vitest";
import { messagesIn } from "./error-messages.ts";

it.each([
  ["a plain error", 'new MillraceError("expired", "It is gone.")', ["It is gone.", undefined]],
  ["its hint", 'new MillraceError("expired", "It is gone.", { hint: "Ask again." })', ["It is gone.", "Ask again."]],
  [
    "what is known later",
    'new MillraceError("expired", `The file ${file} is gone.`)',
    ["The file … is gone.", undefined],
  ],
  [
    "constants of the file",
    'const hint = "Ask again."; const gone = "It is gone."; new MillraceError("expired", gone, { hint })',
    ["It is gone.", "Ask again."],
  ],
  [
    "what a function of the file answers",
    'function gone() { return "It is gone."; } new MillraceError("expired", gone())',
    ["It is gone.", undefined],
  ],
  ["a row of a table", 'const rows = [{ code: "expired", message: "It is gone." }]', ["It is gone.", undefined]],
])("the page is made from %s", (_, source, [message, hint]) => {
  expect(messagesIn("a.ts", source, new Set(["expired"]))).toEqual([{ code: "expired", message, hint, file: "a.ts" }]);
});

it("takes a name as it stands where it is used", () => {
  const source = `const message = "Outer."; function f(message) { new MillraceError("expired", message); }
    function g() { const message = "Inner."; new MillraceError("expired", message); } new MillraceError("expired", message);`;
  expect(messagesIn("a.ts", source, new Set(["expired"])).map(({ message }) => message)).toEqual(["Inner.", "Outer."]);
});

it("leaves out what the file alone does not say, and codes that are not ours", () => {
  const source = 'new MillraceError("expired", other); f({ code: "ENOENT", message: "There is no file." });';
  expect(messagesIn("a.ts", source, new Set(["expired"]))).toEqual([]);
});
