import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codex } from "../../../src/cli/clients/agents.ts";
import { claudeCode } from "../../../src/cli/clients/claude-code.ts";
import { openCode } from "../../../src/cli/clients/opencode.ts";
import { type Bench, type Ran, tripSchema } from "../bench.ts";
import { callsForm, quietClaude } from "../cases/clis.ts";
import { launched } from "../cases/launched.ts";
import { quietOpenCode } from "../journeys/opencode-home.ts";
import { filledTokens, filling } from "./script.ts";
import type { Message, SessionClient } from "./session.ts";

const until = ({ until: stop }: Message) => (stop === undefined ? {} : { until: stop });
const noJson = "it has no structured output";
const compacts = "it compacts its history, see there";

function call(tool: string, given: object): string {
  return `call ${tool} ${JSON.stringify(given)}`;
}

/** Codex; `more`: further arguments of a message. */
function codexSay(bench: Bench, message: Message, more: readonly string[] = []): Promise<Ran> {
  const schema = join(bench.work, "schema.json");
  writeFileSync(schema, JSON.stringify(tripSchema));
  const args = [
    "exec",
    ...(message.isFirst ? [] : ["resume", "--last"]),
    "-c",
    'approval_policy="never"',
    "-c",
    'sandbox_mode="danger-full-access"',
    "--skip-git-repo-check",
    ...(message.picture === undefined ? [] : ["-i", message.picture]),
    ...(message.isJson ? ["--output-schema", schema] : []),
    ...(message.step === "sub-agent" ? ["--enable", "multi_agent_v2"] : []),
    ...more,
    "--",
    message.text,
  ];
  return launched(bench, codex, args, until(message));
}

async function claudeSay(bench: Bench, message: Message): Promise<Ran> {
  const { isFirst, isJson } = message;
  const text = isJson ? callsForm : message.text;
  const ran = await launched(
    bench,
    claudeCode,
    [
      "-p",
      text,
      "--allowedTools",
      "Bash,Read,Task,Agent",
      ...(isFirst ? [] : ["--continue"]),
      ...(isJson ? ["--json-schema", JSON.stringify(tripSchema), "--output-format", "json"] : []),
    ],
    { env: quietClaude, ...until(message) },
  );
  return ran;
}

const openCodeConfig = { autoupdate: false, share: "disabled", permission: { bash: "allow", task: "allow" } };

function openCodeSay(bench: Bench, message: Message, more: { readonly contextTokens?: number } = {}): Promise<Ran> {
  const folder = join(bench.home, ".config", "opencode");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "opencode.json"), JSON.stringify({ ...openCodeConfig, enabled_providers: ["millrace"] }));
  const args = [
    "run",
    ...(message.isFirst ? [] : ["--continue"]),
    ...(message.picture === undefined ? [] : ["-f", message.picture]),
  ];
  // it quotes what has spaces among its arguments
  return launched(bench, openCode, args, { env: quietOpenCode, stdin: message.text, ...until(message), ...more });
}

export const cliSessions: readonly SessionClient[] = [
  {
    name: "Codex",
    packageName: "@openai/codex",
    surface: "responses",
    say: codexSay,
    calls: {
      shell: (n) => call("*", { cmd: `echo millrace-${n}` }),
      agent: (task) =>
        `${call("collaboration__spawn_agent", { task_name: "sub", message: task, fork_turns: "none" })}\n---\n${call("collaboration__wait_agent", { timeout_ms: 30_000 })}`,
    },
    lacks: { "full context": compacts, PDF: "it has no tool that reads files", file: "it reads files by commands" },
    more: { "sub-agent": 1 }, // it waits by a call of its own
    answers: { "sub-agent": ["Wait completed"] }, // the sub-agent's words are a message for the model
    compact: (bench, message) => codexSay(bench, message, ["-c", "model_auto_compact_token_limit=200"]),
  },
  {
    name: "Claude Code",
    packageName: "@anthropic-ai/claude-code",
    surface: "messages",
    say: claudeSay,
    calls: {
      shell: (n) => call("Bash", { command: `echo millrace-${n}`, description: "Says it" }),
      read: (file) => call("Read", { file_path: file }),
      agent: (task) => call("Agent", { description: "Says it", prompt: task, subagent_type: "general-purpose" }),
    },
    lacks: { "full context": compacts },
    more: { "sub-agent": 1 }, // it works in the background, and a notice tells the model
    answers: { "sub-agent": [] },
    compact: (bench, message) => claudeSay(bench, { ...message, text: "/compact" }),
  },
  {
    name: "OpenCode",
    packageName: "opencode-ai",
    surface: "chat completions",
    say: openCodeSay,
    calls: {
      shell: (n) => call("bash", { command: `echo millrace-${n}`, description: "Says it" }),
      read: (file) => call("read", { filePath: file }),
      agent: (task) => call("task", { description: "Says it", prompt: task, subagent_type: "general" }),
    },
    lacks: { JSON: noJson, "full context": compacts },
    more: { "first turn": 1, compaction: 1 }, // a title; it goes on by itself after its summary
    compact: (bench, message) =>
      openCodeSay(bench, { ...message, text: message.text + filling }, { contextTokens: filledTokens }),
  },
];
