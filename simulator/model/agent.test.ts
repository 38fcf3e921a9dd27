import { describe, expect, it } from "vitest";
import type { TurnPlan } from "../faults/turn-plan.ts";
import { spoilings } from "./agent-script.ts";
import { modelAnswer } from "./helper.ts";
import type { ModelPrompt } from "./model.ts";

const bash =
  '{"type":"object","properties":{"command":{"type":"string"},"timeoutMs":{"type":"integer"}},"required":["command"]}';
const read = '{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}';

function teach(lines: readonly string[] = []): string {
  return [
    "You are careful.",
    "",
    "# Tools",
    "",
    "The tools below are run for you. To call one, write, on lines of their own:",
    "",
    '<tool_call name="read_file">',
    "{ …arguments as JSON… }",
    "</tool_call>",
    "",
    "- Write nothing after the last one.",
    ...lines,
    "",
    "## read_file",
    "Reads a file.",
    "## Notes",
    "Relative paths only.",
    `Schema: ${read}`,
    "",
    "## bash",
    "Runs a shell command.",
    `Schema: ${bash}`,
    "",
    "## apply_patch (freeform)",
    "Applies a patch.",
  ].join("\n");
}

/** The conversation as a client of the real server writes it into one text. */
function written(messages: readonly (readonly [role: string, text: string])[]): string {
  const last = messages.findLastIndex(([role]) => role === "assistant");
  const block = ([role, text]: readonly [string, string]) =>
    role === "tool" ? result(text) : `<message role="${role}">\n${text}\n</message>`;
  const after = messages.slice(last + 1).map(([role, text]) => (role === "tool" ? result(text) : text));
  if (last === -1) return after.join("\n\n");
  const history = messages.slice(0, last + 1).map(block);
  return `So far:\n\n<conversation>\n${history.join("\n")}\n</conversation>\n\n${after.join("\n\n")}`;
}

function result(text: string): string {
  return `<tool_result name="bash" call="1">\n${text}\n</tool_result>`;
}

async function ask(text: string, more: Partial<ModelPrompt> & { readonly plan?: TurnPlan } = {}) {
  let said = "";
  let thought = "";
  const prompt: ModelPrompt = {
    text,
    asked: text,
    instructions: teach(),
    history: [],
    images: [],
    modelUid: "swe-1-6",
    modelLabel: "SWE-1.6",
    thinks: false,
    outputLimit: undefined,
    plan: {},
    ...more,
  };
  for (const delta of modelAnswer(prompt)) {
    if (delta.kind === "text") said += delta.text;
    if (delta.kind === "thinking") thought += delta.text;
  }
  return { said, thought };
}

const call = (name: string, body: string) => `<tool_call name="${name}">\n${body}\n</tool_call>`;
const echo = (n: number) => call("bash", `{"command":"echo millrace-${n}"}`);

describe("a model that is offered tools", () => {
  it("runs a whole loop: two calls at once, one more, then the results", async () => {
    const task = "Do it. [[sim: agent=loop]]";
    const first = await ask(task);
    expect(first.thought).toContain("Two things");
    expect(first.said).toBe(`${echo(1)}\n\n${echo(2)}`);
    const soFar = [
      ["user", task],
      ["assistant", first.said],
      ["tool", "one"],
      ["tool", "two"],
    ] as const;
    const second = await ask(written(soFar));
    expect(second.said).toBe(echo(3));
    const third = await ask(written([...soFar, ["assistant", second.said], ["tool", "three"]]));
    expect(third.said).toBe("All done. The tools said: one | two | three");
  });

  it("runs the same loop on a trajectory that continues", async () => {
    const task = "Do it. [[sim: agent=loop]]";
    const history = [
      { role: "user", text: task },
      { role: "assistant", text: "calls" },
    ] as const;
    expect((await ask(`${result("one")}\n\n${result("two")}`, { history })).said).toBe(echo(3));
  });

  it("makes one call an answer where only one is allowed", async () => {
    const instructions = teach(["- At most one call in an answer."]);
    expect((await ask("[[sim: agent=loop]]", { instructions })).said).toBe(echo(1));
  });

  it("follows a script that stands in the prompt", async () => {
    const script = [
      "[[agent",
      "say Let me look.",
      'call read_file {"path":"a.txt"}',
      "call apply_patch",
      "---",
      "say The file says {results}.",
      "]]",
    ].join("\n");
    const first = await ask(script);
    expect(first.said).toContain(`Let me look.\n\n${call("read_file", '{"path":"a.txt"}')}`);
    expect(first.said).toContain("*** Begin Patch\n*** Add File: millrace-2.txt");
    const second = await ask(
      written([
        ["user", script],
        ["assistant", first.said],
        ["tool", "hello"],
      ]),
    );
    expect(second.said).toBe("The file says hello.");
  });

  it("follows no script of before a reset, also where no answer stands between", async () => {
    const task = "Do it. [[sim: agent=loop]]";
    const over = written([
      ["user", task],
      ["assistant", "calls"],
      ["user", "[[sim: reset]] count to 3"],
    ]);
    expect((await ask(over, { asked: "count to 3" })).said).toBe("1, 2, 3");
  });

  it("answers plainly once its script is over, and when there is none", async () => {
    const over = written([
      ["user", "[[sim: agent=refuse]]"],
      ["assistant", "I'm sorry, but I can't help with that."],
      ["user", "count to 3"],
    ]);
    expect((await ask(over, { asked: "count to 3" })).said).toBe("1, 2, 3");
    expect((await ask("count to 3")).said).toBe("1, 2, 3");
  });

  it("calls what it must call, once", async () => {
    const any = teach(["- This answer must call at least one tool."]);
    expect((await ask("hi", { instructions: any })).said).toBe(echo(1));
    const named = teach(["- This answer must call the tool read_file, and no other."]);
    expect((await ask("hi", { instructions: named })).said).toBe(call("read_file", '{"path":"README.md"}'));
    const after = written([
      ["user", "hi"],
      ["assistant", "x"],
      ["tool", "done"],
    ]);
    expect((await ask(after, { instructions: any })).said).not.toContain("<tool_call");
  });

  it.each(spoilings)("spoils a call (%s) and corrects it when it is asked again", async (how) => {
    const task = `Do it. [[sim: agent=${how}]]`;
    const bad = await ask(task);
    expect(bad.said).not.toBe(echo(1));
    const history = [
      { role: "user", text: task },
      { role: "assistant", text: bad.said },
    ] as const;
    expect((await ask("That call was wrong: try again.", { history })).said).toBe(echo(1));
    const stubborn = history.map((message) => ({ ...message, text: message.text.replace("agent=", "agent=always-") }));
    expect((await ask("That call was wrong: try again.", { history: stubborn })).said).toBe(bad.said);
  });

  it("can be set by the plan instead of the prompt, and does nothing without tools", async () => {
    expect((await ask("hi", { plan: { agent: "once" } })).said).toBe(`Let me look.\n\n${echo(1)}`);
    expect((await ask("count to 2", { plan: { agent: "once" }, instructions: "" })).said).toBe("1, 2");
  });
});

describe("a model whose answer has to be JSON", () => {
  const schema = {
    type: "object",
    properties: {
      title: { type: "string", maxLength: 10 },
      count: { type: "integer", minimum: 3 },
      tags: { type: "array", items: { $ref: "#/$defs/tag" }, minItems: 2 },
      mood: { anyOf: [{ type: "null" }, { type: "string" }] },
    },
    required: ["title", "count", "tags", "mood"],
    $defs: { tag: { enum: ["wet", "dry"] } },
  };
  const instructions = `# Form of the answer\n\nYour whole answer is one JSON value. It fits this JSON Schema (x):\n${JSON.stringify(schema)}`;

  it("gives a value that fits the schema", async () => {
    const { said } = await ask("count to 3", { instructions });
    expect(JSON.parse(said)).toEqual({ title: "1, 2, 3", count: 3, tags: ["wet", "wet"], mood: null });
  });

  it("gives any object where there is no schema", async () => {
    const { said } = await ask("count to 3", { instructions: "# Form of the answer\n\nOne JSON object." });
    expect(JSON.parse(said)).toEqual({ answer: "1, 2, 3" });
  });

  it.each(["fenced", "prose", "truncated", "wrong-type"] as const)("spoils it on demand: %s", async (json) => {
    const { said } = await ask("count to 3", { instructions, plan: { json } });
    const parsed = (() => {
      try {
        return JSON.parse(said) as unknown;
      } catch {
        return undefined;
      }
    })();
    expect(parsed === undefined || Array.isArray(parsed)).toBe(true);
  });
});

describe("a model with a limit", () => {
  it("stops at four characters a token", async () => {
    expect((await ask("write 1000 characters", { instructions: "", outputLimit: 10 })).said).toHaveLength(40);
  });
});
