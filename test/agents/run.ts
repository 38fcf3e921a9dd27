import { strict as assert } from "node:assert";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { APIError } from "openai";
import { lookAtHosts } from "../../src/backends/acp/host/hosted-child.ts";
import { installPackages, versionOf } from "../clients/install.ts";
import { line, withSections } from "../clients/table.ts";
import { type GatewayProcess, millrace, startGatewayProcess } from "../support/gateway-process.ts";
import { chatLoop, type LoopTool, loopApis, runLoop } from "../support/tool-loop.ts";
import { checkHalves } from "./halves.ts";
import { startModelServer } from "./model-server.ts";

/*
 * `npm test -- programs agents [-- --update]`: real ACP agents (published packages) that config.toml names, each with the settings of an owner who allowed it
 * everything; a local server as their model, a real gateway process, and the real openai SDK in front. `--update` writes the table of docs/agents.md.
 */
const packages = await installPackages(join(import.meta.dirname, "package.json"));
const home = mkdtempSync(join(tmpdir(), "millrace-agents-"));
const model = await startModelServer();
const patience = () => AbortSignal.timeout(40_000);
let failed = 0;

/** A real agent, and the configuration of an owner who allowed it everything. */
interface AgentPackage {
  readonly name: string;
  readonly npm: string;
  readonly bin: string;
  readonly args: readonly string[];
  readonly set: Readonly<Record<string, string>>;
  /** Files of the owner, below the home folder. */
  readonly files: Readonly<Record<string, string>>;
  /** The model to ask, as the agent names it. */
  readonly model: string;
  /** Its tool that runs a command, and the tool's input. */
  readonly tool: string;
  readonly input: (command: string) => object;
}

/** An MCP server of the owner, which each agent is configured to start and to allow. */
const ownerServer = (agent: string) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, "owner-server.ts"), join(home, `served-by-${agent}.txt`)],
});
const command = (line: string) => ({ command: line });
const owned: readonly AgentPackage[] = [
  {
    name: "opencode",
    npm: "opencode-ai",
    bin: "opencode",
    args: ["acp"],
    model: "mock/m1",
    tool: "bash",
    set: { OPENCODE_CONFIG: join(home, "opencode.json"), OPENCODE_DISABLE_MODELS_FETCH: "1" },
    files: {
      "opencode.json": JSON.stringify({
        autoupdate: false,
        share: "disabled",
        enabled_providers: ["mock"],
        model: "mock/m1",
        small_model: "mock/m1",
        permission: { edit: "allow", bash: "allow", "owner_*": "allow" },
        mcp: { owner: { type: "local", command: Object.values(ownerServer("opencode")).flat(), enabled: true } },
        agent: { plan: { permission: { edit: "allow", bash: "allow" } } },
        provider: {
          mock: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${model.url}/v1`, apiKey: "local" },
            models: { m1: { name: "M 1" }, m2: { name: "M 2" } },
          },
        },
      }),
    },
    input: (line) => ({ command: line, description: "a command" }),
  },
  {
    name: "codex",
    npm: "@agentclientprotocol/codex-acp",
    bin: "codex-acp",
    args: [],
    model: "default",
    tool: "exec_command",
    input: (line) => ({ cmd: line }),
    set: { OPENAI_API_KEY: "local" },
    files: {
      ".codex/config.toml": [
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        'model = "mock-m1"',
        'model_provider = "mock"',
        "[model_providers.mock]",
        'name = "mock"',
        `base_url = "${model.url}/v1"`,
        'wire_api = "responses"',
        'env_key = "OPENAI_API_KEY"',
        "[mcp_servers.owner]",
        `command = ${JSON.stringify(ownerServer("codex").command)}`,
        `args = ${JSON.stringify(ownerServer("codex").args)}`,
        'default_tools_approval_mode = "approve"',
      ].join("\n"),
    },
  },
  {
    name: "claude",
    npm: "@agentclientprotocol/claude-agent-acp",
    bin: "claude-agent-acp",
    args: [],
    model: "default",
    tool: "Bash",
    input: command,
    set: { ANTHROPIC_API_KEY: "local", ANTHROPIC_BASE_URL: model.url, IS_SANDBOX: "1" },
    files: {
      ".claude/settings.json": JSON.stringify({
        permissions: { defaultMode: "bypassPermissions", allow: ["Bash(*)", "Write(*)", "mcp__owner"] },
      }),
      ".claude.json": JSON.stringify({ mcpServers: { owner: { type: "stdio", ...ownerServer("claude") } } }),
    },
  },
  {
    name: "gemini",
    npm: "@google/gemini-cli",
    bin: "gemini",
    args: ["--acp"],
    model: "default",
    tool: "run_shell_command",
    input: command,
    set: { GEMINI_API_KEY: "local", GOOGLE_GEMINI_BASE_URL: model.url },
    files: {
      ".gemini/settings.json": JSON.stringify({
        general: { defaultApprovalMode: "auto_edit" },
        tools: { allowed: ["run_shell_command", "write_file"] },
        mcpServers: { owner: { ...ownerServer("gemini"), trust: true } },
        security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
      }),
      ".gemini/policies/all.toml": '[[rule]]\ntoolName = "*"\ndecision = "allow"\npriority = 999\n',
    },
  },
  {
    name: "qwen",
    npm: "@qwen-code/qwen-code",
    bin: "qwen",
    args: ["--acp"],
    model: "default",
    tool: "run_shell_command",
    input: (line: string) => ({ command: line, is_background: false }),
    set: { OPENAI_API_KEY: "local", OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: "m1" },
    files: {
      ".qwen/settings.json": JSON.stringify({
        permissions: { allow: ["run_shell_command", "write_file", "mcp__owner"] },
        mcpServers: { owner: { ...ownerServer("qwen"), trust: true } },
        tools: { approvalMode: "yolo" },
        security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
      }),
    },
  },
];

/** The owners' files, and Millrace's that names the agents. */
function configure(): void {
  const entries = owned.map(({ name, bin, args, set, files }) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
    }
    const words = [join(packages, "node_modules/.bin", bin), ...args];
    const variables = Object.entries(set).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
    return `[[agents]]\nname = "${name}"\ncommand = ${JSON.stringify(words)}\nset = { ${variables.join(", ")} }\n`;
  });
  mkdirSync(join(home, ".millrace"), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, ".millrace/config.toml"), entries.join("\n"));
}

async function check(sentence: string, run: () => Promise<void>): Promise<boolean> {
  const startedAt = performance.now();
  let failure = "";
  try {
    await run();
  } catch (error) {
    failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    failed++;
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stderr.write(`${(failure === "" ? "ok" : "FAILED").padEnd(7)} ${sentence} ${seconds} s ${failure}\n`);
  return failure === "";
}

/** What each agent came to, by the heading of a column. */
const outcomes = new Map(owned.map(({ name }) => [name, new Map<string, boolean>()]));

function writeTable(): void {
  const file = join(import.meta.dirname, "../../docs/agents.md");
  const headings = [
    "plain answer",
    "its own tools do nothing",
    "30 rounds of a tool loop are one prompt, in three APIs",
  ];
  const today = new Date().toISOString().slice(0, 10);
  const rows = owned.map(({ name, npm }) => {
    const cells = headings.map((heading) => (outcomes.get(name)?.get(heading) === true ? "yes" : "**no**"));
    return line([npm, versionOf(packages, npm), ...cells, today]);
  });
  const head = line(["package", "version", ...headings, "date"]);
  const part = [head, `|${"---|".repeat(headings.length + 3)}`, ...rows].join("\n");
  writeFileSync(file, withSections(readFileSync(file, "utf8"), { agents: part }));
}

const clientOf = ({ url, key }: GatewayProcess) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const ask = (content: string, asked = "opencode/mock/m1") => ({
  model: asked,
  messages: [{ role: "user" as const, content }],
});

/** An answer of a keyed request, read to its end or to the first text. */
async function stream(gateway: GatewayProcess, content: string, key: string): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${gateway.key}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body: JSON.stringify({ ...ask(content), stream: true }),
    signal: patience(),
  });
}

const step: LoopTool = {
  name: "step",
  parameters: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
};

/** The model to ask, by the name that a client of the gateway uses. */
async function modelOf({ name, model: own }: AgentPackage): Promise<string> {
  if (own !== "default") return `${name}/${own}`;
  const { data } = await clientOf(gateway).models.list();
  return data.find(({ id }) => id.startsWith(`${name}/`))?.id ?? name;
}

/** How many prompts the gateway has sent to an agent. */
async function prompts(agent: string): Promise<number> {
  const headers = { authorization: `Bearer ${gateway.key}` };
  const metrics = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
  return Number(new RegExp(`^millrace_agent_prompts\\{agent="${agent}"\\} (\\d+)`, "m").exec(metrics)?.[1]);
}

configure();
for (const { npm } of owned) process.stderr.write(`${npm} ${versionOf(packages, npm)}\n`);
let gateway = await startGatewayProcess({ home });
try {
  await check("its models are listed as opencode/<model>", async () => {
    // the first start of OpenCode on a machine takes longer than the gateway waits: its models come with a later list
    const patience = AbortSignal.timeout(40_000);
    let listed: string[] = [];
    while (listed.length === 0 && !patience.aborted) {
      const { data } = await clientOf(gateway).models.list();
      listed = data.map(({ id }) => id).filter((id) => id.startsWith("opencode/mock/"));
      await sleep(listed.length === 0 ? 1_000 : 0);
    }
    assert.deepEqual(listed, ["opencode/mock/m1", "opencode/mock/m2"]);
  });
  await check("a streamed answer comes whole, with the agent's usage, from one prompt", async () => {
    const create = clientOf(gateway).chat.completions.create({
      ...ask("Please count to 5 for alpha."),
      stream: true,
      stream_options: { include_usage: true },
    });
    const { data, response } = await create.withResponse();
    let text = "";
    let tokens: number | undefined;
    for await (const chunk of data) {
      text += chunk.choices[0]?.delta.content ?? "";
      tokens = chunk.usage?.completion_tokens ?? tokens;
    }
    assert.equal(text, "1, 2, 3, 4, 5");
    assert.equal(tokens, 7);
    assert.equal(response.headers.get("x-millrace-backend"), "acp");
    assert.equal(model.asked("alpha").length, 1);
  });
  await check("another model of the agent is chosen by its name", async () => {
    const answer = await clientOf(gateway).responses.create({
      model: "opencode/mock/m2",
      input: "Please count to 3 for beta.",
    });
    assert.equal(answer.output_text, "1, 2, 3");
    assert.deepEqual(
      model.asked("beta").map((asked) => asked.model),
      ["m2"],
    );
  });
  for (const agent of owned) {
    const plain = await check(
      `${agent.name}: a plain answer, although its owner's settings are not in force`,
      async () => {
        const question = `Please count to 5 for ${agent.name}.`;
        const answer = await clientOf(gateway).chat.completions.create(ask(question, await modelOf(agent)));
        assert.equal(answer.choices[0]?.message.content, "1, 2, 3, 4, 5");
        assert.equal(model.asked(question).length, 1);
      },
    );
    const isTame = await check(
      `${agent.name}: a command that its owner allowed and a model asks for does not run`,
      async () => {
        const file = join(home, `written-by-${agent.name}.txt`);
        const json = JSON.stringify(agent.input(`touch ${file}`));
        const question = ask(`Please use the tool ${agent.tool} with ${json} now`, await modelOf(agent));
        await clientOf(gateway)
          .chat.completions.create(question)
          .catch((error: unknown) => assert(error instanceof APIError));
        assert.equal(existsSync(file), false);
      },
    );
    const isServed = await check(`${agent.name}: nor does a server of its owner`, async () => {
      const question = ask("Please use the tool leave_mark with {} 1 times, then count to 3.", await modelOf(agent));
      await clientOf(gateway)
        .chat.completions.create(question)
        .catch((error: unknown) => assert(error instanceof APIError));
      assert.equal(existsSync(join(home, `served-by-${agent.name}.txt`)), false);
    });
    await check(`${agent.name}: a client's tools are the agent's own`, async () => {
      const question = `Please count to 3 for tools of ${agent.name}.`;
      const tools = [{ type: "function" as const, function: { name: step.name, parameters: { ...step.parameters } } }];
      await clientOf(gateway).chat.completions.create({ ...ask(question, await modelOf(agent)), tools });
      const [asked] = model.asked(question);
      assert.equal(asked?.text.includes("# Tools"), false);
    });
    outcomes
      .get(agent.name)
      ?.set("plain answer", plain)
      .set("its own tools do nothing", isTame && isServed);
  }
  for (const agent of owned) {
    const held: boolean[] = [];
    for (const api of loopApis) {
      const isHeld = await check(`${agent.name}: a loop of 30 rounds over ${api.name} is one prompt`, async () => {
        const before = await prompts(agent.name);
        const { rounds, text } = await runLoop(api, gateway, {
          model: await modelOf(agent),
          question: 'Please use the tool step with {"at":"#"} 30 times, then count to 3.',
          tool: step,
        });
        assert.equal(`${rounds.length} rounds, ${text}`, "30 rounds, 1, 2, 3");
        assert.equal((await prompts(agent.name)) - before, 1);
      });
      held.push(isHeld);
    }
    await check(`${agent.name}: two loops at once stay apart`, async () => {
      const asked = await modelOf(agent);
      const loops = ["a", "b"].map(async (mark) => {
        const question = `Please use the tool step with {"at":"${mark}#"} 5 times, then count to 3.`;
        const { rounds } = await runLoop(chatLoop, gateway, { model: asked, question, tool: step });
        const wanted = Array.from({ length: 5 }, (_, round) => [{ at: `${mark}${round}` }]);
        assert.deepEqual(rounds, wanted);
      });
      await Promise.all(loops);
    });
    outcomes.get(agent.name)?.set("30 rounds of a tool loop are one prompt, in three APIs", held.every(Boolean));
  }
  await check("a gateway killed in the middle of an answer never asks again", async () => {
    const question = "Please hold and count to 9 for delta.";
    const cut = await stream(gateway, question, "delta");
    await model.held();
    await gateway.kill();
    await cut.body?.cancel().catch(() => {});
    model.release();
    gateway = await startGatewayProcess({ home });
    const again = await (await stream(gateway, question, "delta")).text();
    assert.match(again, /"error"|\[DONE\]/);
    assert.equal(model.asked("delta").length, 1);
  });
  const killHosts = async () => {
    for (const { hostPid } of await lookAtHosts(join(home, ".millrace/agents"))) process.kill(hostPid, "SIGKILL");
  };
  gateway = await checkHalves({ home, model, asked: "opencode/mock/m1", check, killHosts }, gateway);
  await check("a client that comes back with its key gets the answer again without a prompt", async () => {
    const first = await (await stream(gateway, "Please count to 4 for epsilon.", "epsilon")).text();
    const second = await (await stream(gateway, "Please count to 4 for epsilon.", "epsilon")).text();
    const content = (text: string) => [...text.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece).join("");
    assert.equal(content(first), "1, 2, 3, 4");
    assert.equal(content(second), content(first));
    assert.equal(model.asked("epsilon").length, 1);
  });
  for (const { name } of owned)
    await check(`${name}: nor did the command run later, for a title or the like`, async () => {
      const isTame = !existsSync(join(home, `written-by-${name}.txt`));
      if (!isTame) outcomes.get(name)?.set("its own tools do nothing", false);
      assert(isTame);
    });
  await check("doctor says what the agent takes", async () => {
    const { stdout } = await millrace(["doctor"], { home });
    assert.match(stdout, /The agent opencode answers: .*2 models, started in [\d.]+ s, \d+ MB of memory/);
    process.stderr.write(`        ${/The agent opencode answers: .*/.exec(stdout)?.[0] ?? ""}\n`);
  });
  if (process.argv.includes("--update")) writeTable();
} finally {
  await gateway.stop();
  await model.close();
  if (failed > 0) process.stderr.write(`${gateway.log()}\nkept: ${home} ${readdirSync(home).join(" ")}\n`);
  else rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
process.exitCode = failed > 0 ? 1 : 0;
