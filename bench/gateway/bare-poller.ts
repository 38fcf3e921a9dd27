import { systemClock } from "../../src/base/clock.ts";
import type { ModelUid } from "../../src/base/ids.ts";
import { Secret } from "../../src/base/secret.ts";
import type { LanguageServer } from "../../src/language-server/language-server.ts";
import { createWireIds } from "../../src/language-server/metadata.ts";
import { openLanguageServer } from "../../src/language-server/open-language-server.ts";
import type { Curve } from "./curve.ts";

/** What the process is told to do, once. */
export interface PollOrder {
  readonly port: number;
  readonly csrfToken: string;
  readonly apiKey: string;
  readonly modelUid: string;
  readonly pollMs: number;
  /** One turn each, all at once. */
  readonly prompts: readonly string[];
}

export interface PollReport {
  readonly curves: readonly Curve[];
  readonly cpuMs: number;
  readonly peakBytes: number;
  readonly tookMs: number;
}

/**
 * The simplest thing that can follow an answer: start, send, ask for the steps at a fixed pace, stop at the checkpoint. A
 * process of its own, so that its cost can be held against the gateway's.
 */
async function poll(server: LanguageServer, order: PollOrder, text: string): Promise<Curve> {
  const { signal } = new AbortController();
  const askedAt = performance.now();
  await server.ensurePanelState({ force: false }, signal);
  const cascadeId = await server.startCascade(signal);
  const modelUid = order.modelUid as ModelUid; // from the simulator's own list
  const message = { instructions: "", images: [], modelUid, modelNumber: undefined, maxOutputTokens: undefined };
  await server.sendUserMessage({ cascadeId, text, ...message }, signal);
  const points: { atMs: number; characters: number }[] = [];
  for (;;) {
    const steps = await server.getSteps(cascadeId, 0, signal);
    let characters = 0;
    for (const { step } of steps) if (step.case === "plannerResponse") characters += step.value.response.length;
    const atMs = performance.now() - askedAt;
    if (characters > (points.at(-1)?.characters ?? 0)) points.push({ atMs, characters });
    if (steps.some(({ step }) => step.case === "checkpoint")) {
      await server.archive(cascadeId, signal);
      return { points, endMs: atMs };
    }
    await systemClock.sleep(order.pollMs, signal);
  }
}

process.once("message", (order: PollOrder) => {
  void run(order).then((report) => process.send?.(report, () => process.disconnect()));
});

async function run(order: PollOrder): Promise<PollReport> {
  const server = openLanguageServer(
    {
      variant: "windsurf",
      host: "127.0.0.1",
      port: order.port,
      tls: false,
      protocol: "grpc",
      csrfToken: new Secret(order.csrfToken),
    },
    {
      variant: "windsurf",
      ideVersion: "2.2.17",
      extensionVersion: "1.48.2",
      extensionPath: "",
      apiKey: new Secret(order.apiKey),
    },
    { clock: systemClock, ids: createWireIds(systemClock) },
  );
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const curves = await Promise.all(order.prompts.map((text) => poll(server, order, text)));
  const { user, system } = process.cpuUsage(before);
  const tookMs = performance.now() - startedAt;
  server.close();
  return { curves, cpuMs: (user + system) / 1000, peakBytes: process.resourceUsage().maxRSS * 1024, tookMs };
}
