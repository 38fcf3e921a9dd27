import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { claudeCode } from "../../../src/cli/clients/claude-code.ts";
import type { Client } from "../../../src/cli/clients/client.ts";
import { codex } from "../../../src/cli/clients/codex.ts";
import { openCode } from "../../../src/cli/clients/opencode.ts";
import { type Bench, prompts, type Ran, type Scenario, tripSchema } from "../bench.ts";
import { prepareOpenCode, quietOpenCode } from "../journeys/opencode-home.ts";
import type { ClientCase } from "./case.ts";

/** What keeps each program from asking anybody but the gateway. */
const quiet: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  opencode: quietOpenCode,
  claude: {
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_AUTOUPDATER: "1",
  },
};

/** Starts a client the way `millrace run` does. */
async function launched(
  bench: Bench,
  client: Client,
  args: readonly string[],
  more: { readonly stdin?: string; readonly until?: Promise<unknown> } = {},
): Promise<Ran> {
  if (client.launch === undefined) throw new Error(`${client.name} cannot be launched`);
  const { homeFolder, platform } = { homeFolder: bench.home, platform: process.platform };
  const launch = client.launch(bench.target, bench.key, args, { homeFolder, env: {}, platform });
  return bench.run(bench.bin(launch.command), launch.args, {
    env: { ...quiet[launch.command], ...launch.env },
    ...more,
  });
}

const openCodeConfig = { autoupdate: false, share: "disabled", permission: { bash: "allow" } };

function openCodeRun(scenario: Scenario, args: readonly string[] = []) {
  return (bench: Bench, until?: Promise<unknown>) => {
    const folder = join(bench.home, ".config", "opencode");
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, "opencode.json"),
      JSON.stringify({ ...openCodeConfig, enabled_providers: ["millrace"] }),
    );
    return launched(bench, openCode, ["run", prompts[scenario], ...args], until === undefined ? {} : { until });
  };
}

/** OpenCode with the packed plugin, which finds the gateway through its own files. */
function openCodePlugin(scenario: Scenario, args: readonly string[] = []) {
  return (bench: Bench, until?: Promise<unknown>) => {
    const model = `millrace/${bench.target.model}`;
    prepareOpenCode(bench, bench.home, { plugin: ["millrace"], ...openCodeConfig, model, small_model: model });
    const env = { ...quietOpenCode, MILLRACE_HOME: join(bench.gatewayHome, ".millrace") };
    return bench.run(bench.bin("opencode"), ["run", prompts[scenario], ...args], {
      env,
      ...(until === undefined ? {} : { until }),
    });
  };
}

/** Drives a scenario and interrupts it as soon as the model answers. */
function interrupted(drive: (bench: Bench, until: Promise<unknown>) => Promise<Ran>) {
  return (bench: Bench) => drive(bench, bench.answering());
}

const picture = (bench: Bench) => join(bench.work, "picture.png");

function codexRun(scenario: Scenario, args: (bench: Bench) => readonly string[] = () => []) {
  return (bench: Bench, until?: Promise<unknown>) => {
    const policy = ["-c", 'approval_policy="never"', "-c", 'sandbox_mode="danger-full-access"'];
    return launched(
      bench,
      codex,
      ["exec", ...policy, "--skip-git-repo-check", ...args(bench), "--", prompts[scenario]],
      until === undefined ? {} : { until },
    );
  };
}

function claudeRun(prompt: string, args: readonly string[] = []) {
  return (bench: Bench, until?: Promise<unknown>) =>
    launched(
      bench,
      claudeCode,
      ["-p", prompt, "--allowedTools", "Bash", ...args],
      until === undefined ? {} : { until },
    );
}

/** Claude Code takes structured output as a call of a tool of its own; the stand-in model is told to make it. */
const callsForm = `[[agent\ncall StructuredOutput {"city":"Bern","days":3}\n---\nsay Done.\n]] ${prompts.json}`;

/** A message with a picture, as Claude Code takes it on stdin. */
async function claudeImage(bench: Bench): Promise<Ran> {
  const data = readFileSync(picture(bench)).toString("base64");
  const content = [
    { type: "text", text: prompts.image },
    { type: "image", source: { type: "base64", media_type: "image/png", data } },
  ];
  const stdin = `${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`;
  return launched(
    bench,
    claudeCode,
    ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    { stdin },
  );
}

export const cliCases: readonly ClientCase[] = [
  {
    name: "OpenCode",
    packageName: "opencode-ai",
    surface: "chat completions",
    drive: {
      plain: openCodeRun("plain"),
      tools: openCodeRun("tools"),
      json: "has no structured output",
      image: (bench) => openCodeRun("image", ["-f", picture(bench)])(bench),
      cancel: interrupted(openCodeRun("cancel")),
      error: openCodeRun("error"),
    },
  },
  {
    name: "OpenCode, with the plugin",
    packageName: "opencode-ai",
    surface: "chat completions",
    drive: {
      plain: openCodePlugin("plain"),
      tools: openCodePlugin("tools"),
      json: "has no structured output",
      image: (bench) => openCodePlugin("image", ["-f", picture(bench)])(bench),
      cancel: interrupted(openCodePlugin("cancel")),
      error: openCodePlugin("error"),
    },
  },
  {
    name: "Codex",
    packageName: "@openai/codex",
    surface: "responses",
    drive: {
      plain: codexRun("plain"),
      tools: codexRun("tools"),
      json: codexRun("json", (bench) => {
        const file = join(bench.work, "schema.json");
        writeFileSync(file, JSON.stringify(tripSchema));
        return ["--output-schema", file];
      }),
      image: codexRun("image", (bench) => ["-i", picture(bench)]),
      cancel: interrupted(codexRun("cancel")),
      error: codexRun("error"),
    },
  },
  {
    name: "Claude Code",
    packageName: "@anthropic-ai/claude-code",
    surface: "messages",
    drive: {
      plain: claudeRun(prompts.plain),
      tools: claudeRun(prompts.tools),
      json: claudeRun(callsForm, ["--json-schema", JSON.stringify(tripSchema), "--output-format", "json"]),
      image: claudeImage,
      cancel: interrupted(claudeRun(prompts.cancel)),
      error: claudeRun(prompts.error),
    },
  },
];
