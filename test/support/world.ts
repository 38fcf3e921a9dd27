import OpenAI from "openai";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../simulator/index.ts";
import { type GatewayProcess, startGatewayProcess } from "./gateway-process.ts";
import { temporaryHome } from "./home.ts";

/** Long enough for anything that must happen, on a machine ten times slower too; a test that waits this long has failed. */
export const patienceMs = 120_000;
export const patience = () => AbortSignal.timeout(patienceMs);

/** How turns go in a test that says nothing else. */
const quick = { rate: 400, firstMs: 50, inputMs: 20 };

/** A stand-in IDE for one test, stopped after it. */
export async function simulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const started = await startSimulator({ ...options, turn: { ...quick, ...options.turn } });
  onTestFinished(() => started.stop());
  return started;
}

/** A real gateway process for one test, stopped after it. */
export async function gateway(options: {
  readonly home: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly bin?: string;
}): Promise<GatewayProcess> {
  const started = await startGatewayProcess(options);
  onTestFinished(async () => {
    await started.stop();
  });
  return started;
}

/** An unmodified SDK client of a gateway; it does not retry, so that a failure shows. */
export function openai(target: Pick<GatewayProcess, "url" | "key">): OpenAI {
  return new OpenAI({ baseURL: `${target.url}/v1`, apiKey: target.key, maxRetries: 0 });
}

/** A stand-in IDE and a gateway that finds it in the same home. */
export async function world(
  options: Omit<Parameters<typeof gateway>[0], "home"> & { readonly simulator?: SimulatorOptions } = {},
) {
  const { simulator: ofIde, ...ofGateway } = options;
  const home = temporaryHome();
  const ide = await simulator({ ...ofIde, home });
  const served = await gateway({ home, ...ofGateway });
  return { home, ide, served, client: openai(served) };
}

/** A stand-in IDE and a gateway that all tests of a file share: for those that leave nothing behind which another one looks at. */
export function sharedWorld(
  args: readonly string[],
  {
    simulator: ofIde = {},
    ...more
  }: Pick<Parameters<typeof startGatewayProcess>[0], "env" | "bin"> & { readonly simulator?: SimulatorOptions } = {},
): () => {
  readonly ide: Simulator;
  readonly served: GatewayProcess;
  readonly client: OpenAI;
} {
  let ide: Simulator | undefined;
  let served: GatewayProcess | undefined;
  beforeAll(async () => {
    ide = await startSimulator({ turn: quick, ...ofIde });
    served = await startGatewayProcess({ home: ide.home, args, ...more });
  });
  afterAll(async () => {
    await served?.stop();
    await ide?.stop();
  });
  return () => {
    if (ide === undefined || served === undefined) throw new Error("it is there once a test of the file runs");
    return { ide, served, client: openai(served) };
  };
}

/** The text of a streamed answer, and why it ended. */
export async function collect(
  stream: AsyncIterable<OpenAI.ChatCompletionChunk>,
): Promise<{ readonly text: string; readonly reason: string | null }> {
  let text = "";
  let reason: string | null = null;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    reason = chunk.choices[0]?.finish_reason ?? reason;
  }
  return { text, reason };
}

/** Reads a streamed answer until its first text has come: by then the prompt was sent. */
export async function untilText(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<void> {
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content) return;
}

export const model = "claude-sonnet-4.6";

/** A question of one message. */
export function ask(content: string): {
  readonly model: string;
  readonly messages: [{ role: "user"; content: string }];
} {
  return { model, messages: [{ role: "user", content }] };
}

/** What `/metrics` says of the log: 1 while it cannot be written. */
export async function degradedGauge({ url, key }: Pick<GatewayProcess, "url" | "key">): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } })).text();
  return Number(/^millrace_degraded (\d)$/m.exec(metrics)?.[1]);
}
