import type { Bench } from "../bench.ts";
import { type Agent, agents } from "../cases/agents.ts";
import { launched } from "../cases/launched.ts";
import { filledTokens, filling, stepNames } from "./script.ts";
import type { Message, SessionClient } from "./session.ts";

/** How an agent goes on with its last session, adds a picture, and calls its tools. */
interface Form extends Pick<SessionClient, "calls" | "lacks" | "more" | "known" | "answers"> {
  /** None: each message begins a session. */
  readonly goesOn: readonly string[];
  readonly picture?: (file: string) => readonly string[];
  /** Its message comes by standard input: it quotes what has spaces among its arguments. */
  readonly byInput?: true;
  /** It compacts its history by itself where its context is full. */
  readonly fillsContext?: true;
}

export function call(tool: string, given: object): string {
  return `call ${tool} ${JSON.stringify(given)}`;
}

const echo = (n: number) => ({ command: `echo millrace-${n}`, description: "Says it" });
const compaction = { compaction: "by a command of its window", "after it": "by a command of its window" };
const noJson = "it has no structured output";
const compacts = "it compacts its history";
const doesNotRepeat =
  "it does not repeat a request whose stream broke, and what its user types again is another message";
const lacks: SessionClient["lacks"] = {
  JSON: noJson,
  "full context": compacts,
  ...compaction,
};

const needsVendor = "it resumes a session through its vendor's service alone";

const forms: Readonly<Record<string, Form>> = {
  pi: {
    goesOn: ["--continue"],
    picture: (file) => [`@${file}`],
    calls: { shell: (n) => call("bash", { command: `echo millrace-${n}` }), read: (path) => call("read", { path }) },
    lacks: { ...lacks, "sub-agent": "it has none" },
  },
  copilot: {
    goesOn: ["--continue"],
    picture: (file) => ["--attachment", file], // a result of a tool has no picture in this API
    calls: {
      shell: (n) => call("bash", echo(n)),
      read: (path) => call("view", { path }),
      agent: (prompt) =>
        call("task", { name: "sub", description: "Says it", prompt, agent_type: "general-purpose", mode: "sync" }),
    },
    lacks,
  },
  "qwen-code": {
    goesOn: ["--continue"],
    calls: {
      shell: (n) => call("run_shell_command", { ...echo(n), is_background: false }),
      read: (file) => call("read_file", { file_path: file }),
    },
    lacks: { ...lacks, "sub-agent": "it ends with a notice, at which the stand-in's model starts it again" },
    more: Object.fromEntries(
      stepNames.filter((step) => step !== "abort").map((step) => [step, 1]), // what to remember of it
    ),
  },
  kilo: {
    goesOn: ["--continue"],
    byInput: true,
    calls: {
      shell: (n) => call("bash", echo(n)),
      read: (file) => call("read", { filePath: file }),
      agent: (task) => call("task", { description: "Says it", prompt: task, subagent_type: "general" }),
    },
    lacks: { JSON: noJson, "full context": compacts },
    known: { "gateway killed": doesNotRepeat },
    fillsContext: true,
    more: { "first turn": 1, compaction: 1 }, // a title; it goes on by itself after its summary
  },
  droid: {
    goesOn: [],
    calls: {
      shell: (n) =>
        call("Execute", {
          command: `echo millrace-${n}`,
          summary: "Say one word",
          riskLevelReason: "This command only prints a word.",
          riskLevel: "low",
        }),
      read: (file) => call("Read", { file_path: file }),
    },
    lacks: {
      ...lacks,
      "second turn": needsVendor,
      "go on": needsVendor,
      "next day": needsVendor,
    },
  },
  goose: {
    goesOn: ["--resume"],
    calls: {
      shell: (n) => call("shell", { command: `echo millrace-${n}` }),
      read: (file) =>
        file.endsWith(".png") ? call("read_image", { source: file }) : call("shell", { command: `cat ${file}` }),
      agent: (task) => call("delegate", { instructions: task, extensions: [] }),
    },
    lacks: {
      JSON: noJson,
      PDF: "it has no tool that reads files",
      "full context": "it shortens its history",
      ...compaction,
    },
    more: { "first turn": 1, "second turn": 1, tools: 1 }, // its title is made anew for each of the first three messages
    known: { "gateway killed": doesNotRepeat },
  },
};

export const agentSessions: readonly SessionClient[] = agents.flatMap((agent) => {
  const form = forms[agent.client.name];
  return form === undefined ? [] : [sessionOf(agent, form)];
});

function sessionOf(
  { client, packageName, args, env, surface = "chat completions" }: Agent,
  { goesOn, picture, byInput, fillsContext, ...form }: Form,
): SessionClient {
  const say = (bench: Bench, message: Message, more: { readonly contextTokens?: number } = {}) => {
    const all = args(message.text);
    const command = all.filter((arg, at) => at === 0 && !arg.startsWith("-")); // `exec`, `run`
    const given = [
      ...command,
      ...(message.isFirst ? [] : goesOn),
      ...(message.picture === undefined ? [] : (picture?.(message.picture) ?? [])),
      ...all.slice(command.length).filter((arg) => byInput !== true || arg !== message.text),
    ];
    return launched(bench, client, given, {
      env,
      ...(byInput === true ? { stdin: message.text } : {}),
      ...(message.until === undefined ? {} : { until: message.until }),
      ...more,
    });
  };
  return {
    name: client.title,
    packageName,
    surface,
    say,
    rarely: true,
    ...(picture === undefined ? {} : { attaches: true }),
    ...(fillsContext === true && {
      compact: (bench, message) =>
        say(bench, { ...message, text: message.text + filling }, { contextTokens: filledTokens }),
    }),
    ...form,
  };
}
