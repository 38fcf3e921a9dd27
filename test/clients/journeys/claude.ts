import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bench, Ran } from "../bench.ts";
import { quietClaude } from "../cases/clis.ts";
import { expect, type Journey } from "./journey.ts";
import { pathWith } from "./planted.ts";
import { answered, question } from "./setup.ts";

const client = { client: "Claude Code", packageName: "@anthropic-ai/claude-code" };

/** One message of a conversation, by `millrace run`. A text that is long is no argument. */
function say(bench: Bench, args: readonly string[], stdin = ""): Promise<Ran> {
  const env = { ...quietClaude, MILLRACE_HOME: join(bench.gatewayHome, ".millrace"), PATH: pathWith(bench) };
  return bench.run("millrace", ["run", "claude-code", "--", "-p", ...args], { env, stdin });
}

/** The models of the gateway's turns since the start, by the names that a client uses. */
async function models({ gateway: { url, key } }: Bench): Promise<readonly string[]> {
  const answer = await fetch(`${url}/v1/turns`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await answer.json()) as { readonly data: readonly { readonly model: string }[] };
  return data.map(({ model }) => model);
}

const opus = /^claude-opus-4[.-]7/;
const families = [
  { args: ["--model", "opus"], asks: opus },
  { args: ["--model", "sonnet"], asks: /^claude-sonnet-4[.-]6$/ },
  { args: ["--model", "haiku"], asks: /haiku|^swe-/ },
  { args: ["--model", "opusplan"], asks: /^claude-sonnet-4[.-]6$/ },
  { args: ["--model", "opusplan", "--permission-mode", "plan"], asks: opus },
];

const twenty = Array.from({ length: 20 }, (_, at) => at + 1);
const call = (tool: string, given: object) => `call ${tool} ${JSON.stringify(given)}`;
const ordinary = "water turns the wheel of an old mill while grain falls between heavy stones".split(" ");
const words = (count: number) => Array.from({ length: count }, (_, at) => ordinary[(at * 5) % 14]).join(" ");

export const claudeJourneys: readonly Journey[] = [
  {
    ...client,
    sentence: "each family's name, and a sub-agent's `model: opus`, is answered by the account's newest model of it",
    async run(bench) {
      for (const { args, asks } of families) {
        const before = (await models(bench)).length;
        answered(await say(bench, [question, ...args]));
        const asked = (await models(bench)).slice(0, -before || undefined);
        expect(
          asked.some((model) => asks.test(model)),
          `${args.join(" ")} asked ${asked.join(", ")}`,
        );
      }
      const agent = { description: "d", prompt: "echo: word-sub", subagent_type: "general-purpose", model: "opus" };
      const before = (await models(bench)).length;
      const script = `[[agent\n${call("Agent", agent)}\n---\nsay The tools said: {results}\n]] Look around.`;
      const ran = await say(bench, [script, "--model", "sonnet", "--allowedTools", "Task,Agent"]);
      const asked = (await models(bench)).slice(0, -before || undefined);
      expect(ran.code === 0 && asked.some((model) => opus.test(model)), "the sub-agent asked another model", asked);
    },
  },
  {
    ...client,
    sentence: "one message with 20 edits is one prompt over ACP",
    bench: { acp: true },
    async run(bench) {
      const file = join(bench.work, "twenty.txt");
      writeFileSync(file, twenty.map((n) => `line-${n}.\n`).join(""));
      const edits = twenty.map((n) =>
        call("Edit", { file_path: file, old_string: `line-${n}.`, new_string: `edited-${n}.` }),
      );
      const script = `[[agent\n${call("Read", { file_path: file })}\n---\n${edits.join("\n")}\n---\nsay All said: {results}\n]] Edit it.`;
      const ran = await say(bench, [script, "--allowedTools", "Read,Edit"]);
      const { prompts } = await bench.reached();
      expect(ran.code === 0 && ran.stdout.includes("All said"), "no answer", ran.stdout + ran.stderr);
      const text = readFileSync(file, "utf8");
      expect(text === twenty.map((n) => `edited-${n}.\n`).join(""), "not all was edited", text);
      expect(prompts.length === 1, `${prompts.length} prompts`);
    },
  },
  {
    ...client,
    sentence:
      "a conversation that grows past the model's window goes on: 70,000 words, 50,000, a question, `/compact`, a question",
    async run(bench) {
      const next = ["--continue"];
      answered(await say(bench, [question]));
      for (const [stdin, args] of [
        [`${words(70_000)}\n${question}`, next],
        [`${words(50_000)}\n${question}`, next],
        [question, next],
      ] as const)
        answered(await say(bench, args, stdin));
      const compacted = await say(bench, [...next, "/compact"]);
      expect(compacted.code === 0, "it was not compacted", compacted.stdout + compacted.stderr);
      answered(await say(bench, [...next, question]));
    },
  },
];
