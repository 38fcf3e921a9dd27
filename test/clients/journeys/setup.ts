import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { Bench, Ran } from "../bench.ts";
import { quietGemini } from "../cases/agents.ts";
import { installPacked } from "../packed.ts";
import { expect, type Journey } from "./journey.ts";
import { prepareOpenCode, quietOpenCode } from "./opencode-home.ts";

/** A client with a configuration file of its own, in which its user has written something already. */
interface SetUp {
  readonly name: string;
  readonly title: string;
  readonly packageName: string;
  /** The file that `setup` changes, below the home folder, and what is in there; undefined where there is none yet. */
  readonly file: string;
  readonly before: string | undefined;
  readonly prepare?: (bench: Bench) => void;
  readonly command: string;
  /** Arguments that ask it one question, after `millrace setup` and with `millrace run`. */
  readonly asked: (prompt: string) => readonly string[];
  /** Undefined where the client's scenarios start it as `millrace run` does. */
  readonly run?: (prompt: string) => readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export const codexPolicy = [
  "-c",
  'approval_policy="never"',
  "-c",
  'sandbox_mode="danger-full-access"',
  "--skip-git-repo-check",
];

const setUps: readonly SetUp[] = [
  {
    name: "opencode",
    title: "OpenCode",
    packageName: "opencode-ai",
    file: ".config/opencode/opencode.json",
    // OpenCode adds its schema's address where a configuration has none
    before:
      '{\n    "$schema": "https://opencode.ai/config.json",\n    // mine\n    "autoupdate": false,\n    "share": "disabled", // and this\n}\n',
    prepare: (bench) => prepareOpenCode(bench, bench.home, {}),
    command: "opencode",
    asked: (prompt) => ["run", prompt],
    run: (prompt) => ["run", prompt],
    env: quietOpenCode,
  },
  {
    name: "codex",
    title: "Codex",
    packageName: "@openai/codex",
    file: ".codex/millrace.config.toml",
    before: undefined,
    prepare: ({ home }) =>
      writeFileSync(
        join(home, ".codex/config.toml"),
        '# mine\nmodel_reasoning_effort = "low"\n[history]\npersistence = "none"',
      ),
    command: "codex",
    asked: (prompt) => ["exec", "--profile", "millrace", ...codexPolicy, "--", prompt],
    run: (prompt) => ["exec", ...codexPolicy, "--", prompt],
    env: {},
  },
  {
    name: "claude-code",
    title: "Claude Code",
    packageName: "@anthropic-ai/claude-code",
    file: ".claude/settings.json",
    before: '{\n\t"cleanupPeriodDays": 20,\n\t"env": { "MINE": "1" }\n}\n',
    command: "claude",
    asked: (prompt) => ["-p", prompt],
    run: (prompt) => ["-p", prompt],
    env: {
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  },
  {
    name: "qwen-code",
    title: "Qwen Code",
    packageName: "@qwen-code/qwen-code",
    file: ".qwen/settings.json",
    // In the form that Qwen Code itself gives it: it writes every older one anew.
    before: '{\n  // mine\n  "ui": {\n    "theme": "GitHub"\n  },\n  "$version": 4\n}\n',
    command: "qwen",
    asked: (prompt) => ["--yolo", prompt],
    env: {},
  },
  {
    name: "gemini-cli",
    title: "Gemini CLI",
    packageName: "@google/gemini-cli",
    file: ".gemini/.env",
    before: "MINE=1\n",
    command: "gemini",
    asked: (prompt) => ["--yolo", "--skip-trust", "--prompt", prompt],
    env: quietGemini,
  },
  {
    name: "pi",
    title: "pi",
    packageName: "@earendil-works/pi-coding-agent",
    file: ".pi/agent/models.json",
    before: undefined,
    command: "pi",
    asked: (prompt) => ["-p", prompt],
    env: { PI_OFFLINE: "1", PI_TELEMETRY: "0" },
  },
  {
    name: "droid",
    title: "droid",
    packageName: "droid",
    file: ".factory/settings.json",
    before: undefined,
    command: "droid",
    asked: (prompt) => ["exec", "--model", "custom:millrace:claude-sonnet-4.6", prompt],
    env: { FACTORY_DISABLE_KEYRING: "1", FACTORY_DROID_AUTO_UPDATE_ENABLED: "false" },
  },
];

export const question = "[[sim: text=milled-4711]] Say the word.";

/** A program in the client's home, with Millrace and the clients on the PATH, as a user's shell has them. */
export function inShell(
  bench: Bench,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const path = [
    installPacked().binFolder,
    dirname(bench.bin("x")),
    dirname(process.execPath),
    process.env["PATH"] ?? "",
  ];
  return bench.run(command, args, {
    env: {
      PATH: path.join(delimiter),
      MILLRACE_HOME: join(bench.gatewayHome, ".millrace"),
      MILLRACE_MODEL: bench.target.model,
      ...env,
    },
  });
}

export function answered({ stdout, stderr, code }: Ran): void {
  expect(code === 0 && stdout.includes("milled-4711"), `no answer (code ${code})`, stdout + stderr);
}

function begin(bench: Bench, { file, before, prepare }: SetUp): string {
  const path = join(bench.home, file);
  mkdirSync(dirname(path), { recursive: true });
  prepare?.(bench);
  if (before !== undefined) writeFileSync(path, before);
  return path;
}

function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

function journeysOf(client: SetUp): readonly Journey[] {
  const { name, title, packageName, before, command, env } = client;
  const { run } = client;
  const setup: Journey = {
    client: title,
    packageName,
    sentence: "answers after `millrace setup`; `--undo` restores its configuration to the byte",
    async run(bench) {
      const path = begin(bench, client);
      const done = await inShell(bench, "millrace", ["setup", name, "--yes"]);
      expect(done.code === 0, "setup failed", done.stderr);
      const changed = textOf(path) ?? "";
      expect(changed !== (before ?? ""), "nothing was changed");
      expect(!changed.includes(bench.key), "the owner's key stands in the configuration");
      answered(await inShell(bench, command, client.asked(question), env));
      const undone = await inShell(bench, "millrace", ["setup", name, "--undo", "--yes"]);
      expect(undone.code === 0, "undo failed", undone.stderr);
      const after = textOf(path);
      expect(after === before, "not as it was", after);
    },
  };
  if (run === undefined) return [setup];
  return [
    setup,
    {
      client: title,
      packageName,
      sentence: "answers with `millrace run`, which leaves its configuration alone",
      async run(bench) {
        const path = begin(bench, client);
        answered(await inShell(bench, "millrace", ["run", name, ...run(question)], env));
        expect(textOf(path) === before, "the configuration was changed");
        expect(!existsSync(join(bench.gatewayHome, ".millrace", "setup")), "a set-up was noted");
      },
    },
  ];
}

export const setupJourneys: readonly Journey[] = setUps.flatMap(journeysOf);
