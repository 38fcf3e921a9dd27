import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type OpenAI from "openai";
import { untilAborted } from "../../base/async.ts";
import { startSimulator } from "../../simulator/start.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import type { GatewayParts } from "../compose/compose.ts";
import { readSettings } from "../compose/settings.ts";
import { ask, spell } from "../gateway-process/gateway-client.ts";
import { writeGatewayFile } from "../gateway-process/gateway-file.ts";
import { readOrMakeKey } from "../gateway-process/key-file.ts";
import { flag, integer, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { version } from "../package-files.ts";
import { defaultPort, gatewayOptions } from "../serve/gateway-options.ts";
import { listenSomewhere } from "../serve/listen-somewhere.ts";
import { openComposed } from "../serve/open-composed.ts";

const question = "What are you, and is a real model behind this answer?";

export const demoCommand = defineCommand({
  ...outlines.demo,
  description:
    "Starts a stand-in IDE and a gateway, and asks one question with the openai SDK. Both stay up, so that you can try your own tools. It uses no real IDE, costs nothing, and keeps its files in a temporary folder.",
  options: {
    once: flag("exit after the answer"),
    port: integer(
      "port of the gateway; if it is in use, Millrace picks a free one and prints it",
      "<port>",
      { min: 0, max: 65_535, initial: defaultPort },
      { env: "MILLRACE_PORT" },
    ),
    question: text("what to ask", "<text>"),
    model: text("the model to ask", "<name>", { defaultText: "the account's default" }),
    modelUrl: text("OpenAI-compatible server that answers as the model", "<url>", {
      env: "MILLRACE_SIMULATOR_MODEL_URL",
    }),
  },
  examples: [
    ["millrace demo", "then use it from your own tools"],
    ["millrace demo --once", "only the answer"],
  ],
  async run({ options }, context) {
    const { io, out, signal } = context;
    const home = mkdtempSync(join(tmpdir(), "millrace-demo-"));
    const simulator = await startSimulator({
      home,
      ...(options.modelUrl === undefined ? {} : { modelUrl: options.modelUrl }),
    });
    const inDemo: CommandContext = {
      ...context,
      io: { ...io, homeFolder: home },
      settings: readSettings({ env: {}, homeFolder: home }),
    };
    let composed: GatewayParts | undefined;
    try {
      out.line(
        `stand-in IDE   ${simulator.profile.productFolder} ${simulator.ideVersion}, pid ${simulator.pid}, port ${simulator.port}`,
      );
      composed = await openComposed(
        {
          store: "sqlite",
          redisUrl: gatewayOptions.redisUrl.initial,
          grace: 120_000,
          retention: gatewayOptions.retention.initial,
          continuity: "on",
          ide: undefined,
          endpoint: undefined,
          tokenFile: undefined,
          backend: gatewayOptions.backend.initial,
          acpCommand: undefined,
          logLevel: "warn",
        },
        inDemo,
        { onlyHome: home }, // never the real IDE, which may run beside
      );
      const listening = await listenSomewhere(composed.gateway, { host: "127.0.0.1", port: options.port }, context);
      const { keyFile, gatewayFile } = inDemo.settings;
      const key = readOrMakeKey(keyFile);
      writeGatewayFile(gatewayFile, {
        url: listening.url,
        pid: process.pid,
        instance: composed.instance,
        version: version(),
        startedAtMs: io.clock.now(),
      });
      out.line(`gateway        ${listening.url}`);
      const model = options.model ?? (await chooseModel(composed, signal));
      await answer({ url: listening.url, key: key.reveal(), model, question: options.question ?? question }, context);
      if (!options.once) {
        out.line("It stays up. Point a tool at it:");
        out.line(`  base URL   ${listening.url}/v1`);
        out.line(`  key        ${keyFile}`);
        out.line();
        out.line(`  curl ${listening.url}/v1/chat/completions -H "Authorization: Bearer $(cat ${keyFile})" \\`);
        out.line(
          `    -H 'content-type: application/json' -d '{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}'`,
        );
        out.line();
        out.line("Ctrl-C stops it and removes its files.");
        await untilAborted(signal);
      }
      await listening.close();
    } finally {
      await composed?.close();
      await simulator.stop();
      rmSync(home, { recursive: true, force: true });
    }
  },
});

async function chooseModel({ models }: GatewayParts, signal: AbortSignal): Promise<string> {
  const list = await models.list({ refresh: false }, signal);
  const callable = list.filter(({ disabledReason }) => disabledReason === undefined);
  return (callable.find(({ isDefault }) => isDefault) ?? callable[0])?.name ?? "";
}

interface DemoQuestion {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly question: string;
}

/** Asks with the openai SDK where it is installed, else over plain HTTP, and prints the answer as it comes. */
async function answer(asked: DemoQuestion, { io, out, signal }: CommandContext): Promise<void> {
  const sdk = await loadSdk();
  out.line(
    `model          ${asked.model}, asked ${sdk === undefined ? "over HTTP (the openai package is not installed)" : "with the openai SDK"}`,
  );
  out.line();
  out.line(out.style("dim", `> ${asked.question}`));
  const started = io.clock.monotonic();
  let first: number | undefined;
  let pieces = 0;
  let characters = 0;
  for await (const text of sdk === undefined ? overHttp(asked, signal) : overSdk(sdk, asked, signal)) {
    first ??= io.clock.monotonic();
    pieces++;
    characters += text.length;
    out.write(text);
  }
  const ended = io.clock.monotonic();
  out.line();
  out.line();
  const timings = `first text after ${spell((first ?? ended) - started)}, whole answer after ${spell(ended - started)}, ${characters} characters in ${pieces} deltas`;
  out.line(out.style("dim", timings));
  out.line();
}

type Sdk = typeof OpenAI;

async function loadSdk(): Promise<Sdk | undefined> {
  try {
    return (await import("openai")).default;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return undefined; // an optional peer
    throw error;
  }
}

async function* overSdk(Sdk: Sdk, asked: DemoQuestion, signal: AbortSignal): AsyncGenerator<string, void> {
  const client = new Sdk({ baseURL: `${asked.url}/v1`, apiKey: asked.key });
  const stream = await client.chat.completions.create(
    { model: asked.model, stream: true, messages: [{ role: "user", content: asked.question }] },
    { signal },
  );
  for await (const chunk of stream) {
    const text = chunk.choices[0]?.delta.content;
    if (text) yield text;
  }
}

async function* overHttp(asked: DemoQuestion, signal: AbortSignal): AsyncGenerator<string, void> {
  const { Secret } = await import("../../base/secret.ts");
  for await (const piece of ask(
    { url: asked.url, key: new Secret(asked.key) },
    { text: asked.question, model: asked.model },
    signal,
  )) {
    if (piece.type === "text") yield piece.delta;
  }
}
