import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codex } from "../../../src/cli/clients/agents.ts";
import { claudeCode } from "../../../src/cli/clients/claude-code.ts";
import { openCode } from "../../../src/cli/clients/opencode.ts";
import { type Bench, prompts, type Ran, tripSchema } from "../bench.ts";
import { packedPlugin, prepareOpenCode, quietOpenCode } from "../journeys/opencode-home.ts";
import type { ClientCase } from "./case.ts";
import { launched } from "./launched.ts";

/** What keeps Claude Code from asking anybody but the gateway. */
export const quietClaude = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
  DISABLE_AUTOUPDATER: "1",
};

const openCodeConfig = { autoupdate: false, share: "disabled", permission: { bash: "allow" } };

function openCodeRun(prompt: string, args: readonly string[] = []) {
  return (bench: Bench, until?: Promise<unknown>) => {
    const folder = join(bench.home, ".config", "opencode");
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, "opencode.json"),
      JSON.stringify({ ...openCodeConfig, enabled_providers: ["millrace"] }),
    );
    return launched(bench, openCode, ["run", prompt, ...args], {
      env: quietOpenCode,
      ...(until === undefined ? {} : { until }),
    });
  };
}

/** OpenCode with the packed plugin, which finds the gateway through its own files. */
function openCodePlugin(prompt: string, args: readonly string[] = []) {
  return (bench: Bench, until?: Promise<unknown>) => {
    const model = `millrace/${bench.target.model}`;
    prepareOpenCode(bench, bench.home, { plugin: [packedPlugin()], ...openCodeConfig, model, small_model: model });
    const env = { ...quietOpenCode, MILLRACE_HOME: join(bench.gatewayHome, ".millrace") };
    return bench.run(bench.bin("opencode"), ["run", prompt, ...args], {
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

type CodexStart = (bench: Bench, args: readonly string[], until: { readonly until?: Promise<unknown> }) => Promise<Ran>;

/** Codex with nothing but another base URL for its own provider; throws where it had to connect again, or a request went another way than the WebSocket. */
const codexByUrl: CodexStart = async (bench, args, until) => {
  const folder = join(bench.home, ".codex");
  const { url, model } = bench.target;
  mkdirSync(folder, { recursive: true });
  const lines = [`openai_base_url = "${url}/v1"`, `model = "${model}"`, 'web_search = "disabled"', ""];
  writeFileSync(join(folder, "config.toml"), lines.join("\n"));
  writeFileSync(join(folder, "auth.json"), JSON.stringify({ OPENAI_API_KEY: bench.key }));
  const ran = await bench.run(bench.bin("codex"), args, until);
  if (/reconnecting/i.test(ran.stdout + ran.stderr)) throw new Error("it had to connect again");
  const asked = bench.recorder.requests.filter(({ path }) => path.startsWith("/v1/responses"));
  const other = asked.find(({ headers }) => headers["upgrade"] !== "websocket");
  if (asked.length === 0 || other !== undefined) throw new Error(`it sent ${other?.method ?? "no"} request`);
  return ran;
};

/** Codex on one surface. */
function codexCase(title: Pick<ClientCase, "name" | "surface">, start: CodexStart): ClientCase {
  const run = (prompt: string, args: (bench: Bench) => readonly string[] = () => []) => {
    const policy = ["-c", 'approval_policy="never"', "-c", 'sandbox_mode="danger-full-access"'];
    return (bench: Bench, until?: Promise<unknown>) =>
      start(
        bench,
        ["exec", ...policy, "--skip-git-repo-check", ...args(bench), "--", prompt],
        until === undefined ? {} : { until },
      );
  };
  return {
    ...title,
    packageName: "@openai/codex",
    drive: {
      plain: run(prompts.plain),
      tools: run(prompts.tools),
      json: run(prompts.json, (bench) => {
        const file = join(bench.work, "schema.json");
        writeFileSync(file, JSON.stringify(tripSchema));
        return ["--output-schema", file];
      }),
      image: run(prompts.image, (bench) => ["-i", picture(bench)]),
      cancel: interrupted(run(prompts.cancel)),
      error: run(prompts.error),
    },
    ask: (bench, prompt) => run(prompt)(bench),
  };
}

function claudeRun(prompt: string, args: readonly string[] = []) {
  return (bench: Bench, until?: Promise<unknown>) =>
    launched(bench, claudeCode, ["-p", prompt, "--allowedTools", "Bash", ...args], {
      env: quietClaude,
      ...(until === undefined ? {} : { until }),
    });
}

/** Claude Code takes structured output as a call of a tool of its own; the stand-in model is told to make it. */
export const callsForm = `[[agent\ncall StructuredOutput {"city":"Bern","days":3}\n---\nsay Done.\n]] ${prompts.json}`;

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
    { stdin, env: quietClaude },
  );
}

export const cliCases: readonly ClientCase[] = [
  {
    name: "OpenCode",
    packageName: "opencode-ai",
    surface: "chat completions",
    drive: {
      plain: openCodeRun(prompts.plain),
      tools: openCodeRun(prompts.tools),
      json: "has no structured output",
      image: (bench) => openCodeRun(prompts.image, ["-f", picture(bench)])(bench),
      cancel: interrupted(openCodeRun(prompts.cancel)),
      error: openCodeRun(prompts.error),
    },
    ask: (bench, prompt) => openCodeRun(prompt)(bench),
    promptsEach: 2, // a title
  },
  {
    name: "OpenCode, with the plugin",
    packageName: "opencode-ai",
    surface: "chat completions",
    drive: {
      plain: openCodePlugin(prompts.plain),
      tools: openCodePlugin(prompts.tools),
      json: "has no structured output",
      image: (bench) => openCodePlugin(prompts.image, ["-f", picture(bench)])(bench),
      cancel: interrupted(openCodePlugin(prompts.cancel)),
      error: openCodePlugin(prompts.error),
    },
  },
  codexCase({ name: "Codex", surface: "responses" }, (bench, args, until) => launched(bench, codex, args, until)),
  { ...codexCase({ name: "Codex, by its base URL", surface: "responses, WebSocket" }, codexByUrl), ask: undefined },
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
    ask: (bench, prompt) => claudeRun(prompt)(bench),
  },
];
