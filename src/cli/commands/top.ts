import { MillraceError } from "../../base/errors.ts";
import { limitsSchema } from "../../usage/envelope.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { callGateway, findGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { endPause, pause, readPause } from "../gateway-process/pause-file.ts";
import { readHealth } from "../gateway-process/read-health.ts";
import { spellBackend } from "../gateway-process/spell-backend.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { canAsk } from "../terminal/ask-yes.ts";
import { type TopReading, topPicture } from "../terminal/top-picture.ts";
import { newestTurns } from "../terminal/turn-list.ts";
import { watchScreen } from "../terminal/watch-screen.ts";

const everyMs = 1_000;
const mostListed = 30;

/** `millrace top`: the gateway's present work. */
export const topCommand = defineCommand({
  ...outlines.top,
  description:
    "Shows the running gateway: running and waiting turns, rates, where prompts go, what is left of the plan, and the newest turns. It redraws every second. Keys: q quits, p pauses all prompts and resumes them. In a pipe it prints one picture.",
  options: { once: flag("print one picture and exit"), json: flag("print one reading as JSON") },
  examples: [
    ["millrace top", "until q"],
    ["millrace top --json", "one reading, for a script"],
  ],
  async run({ options }, context) {
    const { io, out, settings, signal } = context;
    if (options.json) return out.json(await readNow(context));
    if (options.once || !out.canRedraw) {
      for (const line of topPicture(await readNow(context), undefined, out)) out.line(line);
      return;
    }
    const leave = new AbortController();
    const either = AbortSignal.any([signal, leave.signal]);
    let last: TopReading | undefined;
    let before: TopReading | undefined;
    const read = async () => {
      const now = await readNow({ ...context, signal: either });
      [before, last] = [last, now];
      return now;
    };
    const release = onKeys(context, {
      q: () => leave.abort(),
      "\u0003": () => leave.abort(), // Ctrl-C, which is a key here
      p: () =>
        void (readPause(settings.pauseFile) ? endPause(settings.pauseFile) : pause(settings.pauseFile, io.clock.now())),
    });
    try {
      const keys = canAsk(context) ? ["", out.style("dim", "q leaves · p pauses or resumes")] : [];
      await watchScreen(
        { read, draw: (now) => [...topPicture(now, before, out), ...keys], everyMs },
        { ...context, signal: either },
      );
    } finally {
      release();
    }
  },
});

/** Calls the function of each key that is pressed; returns a function that stops this. */
function onKeys({ io: { stdin } }: CommandContext, keys: Readonly<Record<string, () => void>>): () => void {
  const setRaw = (isRaw: boolean) => {
    if ("setRawMode" in stdin && typeof stdin.setRawMode === "function") stdin.setRawMode(isRaw);
  };
  if (stdin.isTTY !== true) return () => {};
  const pressed = (chunk: Buffer | string) => {
    for (const key of chunk.toString()) keys[key]?.();
  };
  setRaw(true);
  stdin.on("data", pressed);
  stdin.resume();
  return () => {
    stdin.off("data", pressed);
    setRaw(false);
    stdin.pause();
  };
}

/** One reading. Throws `ide_not_running` where no gateway runs. */
export async function readNow({ io, settings, signal }: CommandContext): Promise<TopReading> {
  const gateway = await findGateway(settings, signal);
  if (gateway === undefined)
    throw new MillraceError("ide_not_running", "No gateway runs.", { hint: "Start one with `millrace serve`." });
  const get = (path: string) => callGateway(gateway, path, { signal });
  const [health, metrics, limits, turns] = await Promise.all([
    readHealth(gateway, signal),
    get("/metrics").then((response) => response.text()),
    limitsOf(gateway, signal).catch(() => undefined), // the rest is worth showing without them
    newestTurns(gateway, mostListed, signal),
  ]);
  const backend = health.details?.backend;
  const sum = (name: string, labels = "") => sumOf(metrics, name, labels) ?? 0;
  return {
    atMs: io.clock.now(),
    url: gateway.url,
    paused: (health.paused ?? undefined) !== undefined,
    backend: backend && spellBackend(backend),
    running: sum("millrace_turns_running"),
    waiting: sum("millrace_turns_waiting"),
    lagSeconds: sumOf(metrics, "millrace_event_loop_lag_seconds", 'quantile="0.99"'),
    ended: sum("millrace_turns_ended_total"),
    failed: sum("millrace_turns_ended_total", 'outcome="failed"'),
    tokens: sum("millrace_tokens_total"),
    turnLimit: health.turn_limit,
    storeWeak: health.store?.weak?.map(({ why, todo }) => `${why} ${todo}`) ?? [],
    limits,
    turns,
  };
}

async function limitsOf(gateway: GatewayClient, signal: AbortSignal) {
  const response = await callGateway(gateway, "/v1/limits?wait=0", { signal });
  const limits = limitsSchema.parse(await response.json());
  return limits.data.length === 0 ? undefined : limits;
}

/** The sum of a metric's series with the label; undefined if there are none. */
function sumOf(text: string, name: string, label: string): number | undefined {
  const values = text
    .split("\n")
    .filter((line) => line.startsWith(`${name} `) || (line.startsWith(`${name}{`) && line.includes(label)))
    .map((line) => Number(line.slice(line.lastIndexOf(" ") + 1)));
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}
