import type { Client } from "../../../src/cli/clients/client.ts";
import { findClient } from "../../../src/cli/clients/clients.ts";
import { type Bench, prompts } from "../bench.ts";
import type { Ask, ClientCase } from "./case.ts";
import { launched } from "./launched.ts";

/** How an agent is told a prompt without a person, and what keeps it from asking anybody but the gateway. */
export interface Agent {
  readonly client: Client;
  readonly packageName: string;
  readonly args: (prompt: string) => readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly promptsEach?: number;
  readonly slow?: true;
  /** How its tool for commands is called, where the stand-in would take another one. */
  readonly shell?: string;
  /** Chat completions by default. */
  readonly surface?: ClientCase["surface"];
  /** Why its tools are not driven. */
  readonly noTools?: string;
  readonly known?: ClientCase["known"];
  readonly knownAfter?: ClientCase["knownAfter"];
  /** More arguments without which it shows no reason for a failure. */
  readonly argsForErrors?: readonly string[];
}

export const quietKilo = {
  KILO_DISABLE_AUTOUPDATE: "1",
  KILO_DISABLE_MODELS_FETCH: "1",
  KILO_DISABLE_LSP_DOWNLOAD: "1",
  KILO_DISABLE_CODEBASE_INDEXING: "1",
  KILO_TELEMETRY_LEVEL: "off",
};

export const quietGemini = { GEMINI_TELEMETRY_ENABLED: "false", GEMINI_CLI_NO_RELAUNCH: "true" };

const cutGemini = "it shows that the stream was cut, not the error before the cut";
const silentDroid =
  'stops, and shows "Exec failed" in place of the message, as after each failure; [see below](#droid)';

export const agents: readonly Agent[] = [
  {
    client: findClient("copilot"),
    packageName: "@github/copilot",
    args: (prompt) => ["-p", prompt, "--allow-all-tools", "--no-color"],
    env: { COPILOT_AUTO_UPDATE: "false", COPILOT_OFFLINE: "true" },
  },
  {
    client: findClient("gemini-cli"),
    packageName: "@google/gemini-cli",
    surface: "gemini",
    args: (prompt) => ["--yolo", "--skip-trust", "--prompt", prompt],
    env: quietGemini,
    shell: "run_shell_command",
    knownAfter: { "high demand in the middle": cutGemini, "internal in the middle": cutGemini },
  },
  {
    client: findClient("qwen-code"),
    packageName: "@qwen-code/qwen-code",
    args: (prompt) => ["--yolo", prompt],
    env: { QWEN_TELEMETRY_ENABLED: "false" },
    promptsEach: 2, // what to remember of it
    shell: "run_shell_command",
  },
  {
    client: findClient("pi"),
    packageName: "@earendil-works/pi-coding-agent",
    args: (prompt) => ["-p", prompt],
    env: { PI_OFFLINE: "1", PI_TELEMETRY: "0" },
  },
  {
    client: findClient("kilo"),
    packageName: "@kilocode/cli",
    args: (prompt) => ["run", prompt, "--auto"],
    env: quietKilo,
    promptsEach: 2, // a title
    slow: true,
  },
  {
    client: findClient("droid"),
    packageName: "droid",
    surface: "messages", // of the bench's model
    args: (prompt) => ["exec", "--auto", "medium", prompt],
    env: { FACTORY_DISABLE_KEYRING: "1", FACTORY_DROID_AUTO_UPDATE_ENABLED: "false" },
    noTools: "the stand-in's model calls its tools with arguments that it refuses",
    known: { error: silentDroid },
    knownAfter: { "unsupported model": "it shows words of its own for the status 404" },
    argsForErrors: ["--output-format", "stream-json"],
  },
  {
    client: findClient("goose"),
    packageName: "@aaif/goose-binary-linux-x64",
    args: (prompt) => ["run", "--text", prompt],
    env: { GOOSE_DISABLE_KEYRING: "1", GOOSE_MODE: "auto", GOOSE_TELEMETRY_ENABLED: "false" },
    promptsEach: 2, // a title
    shell: "shell",
    knownAfter: {
      quota: "it shows words of its own for the status 402, and tells no name by which it could get another",
      "rate limit": "it waits for `retry-after` in silence, up to a minute, and asks again three times",
    },
  },
];

const notTried = "not tried";

/** Two calls in one answer, then one more, of a tool by its name. */
function loopOf(shell: string): string {
  const call = (n: number) => {
    const given = { command: `echo millrace-${n}`, description: "Says it", is_background: false };
    return `call ${shell} ${JSON.stringify(given)}`;
  };
  return `[[agent\n${call(1)}\n${call(2)}\n---\n${call(3)}\n---\nsay The tools said: {results}\n]] Look around.`;
}

function caseOf({
  client,
  packageName,
  args,
  env,
  promptsEach,
  slow,
  shell,
  noTools,
  known,
  knownAfter,
  argsForErrors = [],
  surface = "chat completions",
}: Agent): ClientCase {
  const run = (bench: Bench, prompt: string, more: readonly string[]) =>
    launched(bench, client, [...args(prompt), ...more], { env });
  const ask: Ask = (bench, prompt) => run(bench, prompt, argsForErrors);
  const drive = (prompt: string) => (bench: Bench) => run(bench, prompt, []);
  return {
    name: client.title,
    packageName,
    surface,
    ask,
    ...(promptsEach === undefined ? {} : { promptsEach }),
    ...(slow === undefined ? {} : { slow }),
    ...(known === undefined ? {} : { known }),
    ...(knownAfter === undefined ? {} : { knownAfter }),
    drive: {
      plain: drive(prompts.plain),
      tools: noTools ?? drive(shell === undefined ? prompts.tools : loopOf(shell)),
      json: notTried,
      image: notTried,
      cancel: notTried,
      error: drive(prompts.error),
    },
  };
}

export const agentCases: readonly ClientCase[] = agents.map(caseOf);
