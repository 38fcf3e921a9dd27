import type { IdeFinder } from "../../ide/ide.ts";
import type { LimitsEnvelope } from "../../usage/envelope.ts";
import type { CommandContext } from "../command.ts";
import { limitsSource } from "../limits/limits-source.ts";
import { openLocalMeter } from "../limits/local-meter.ts";
import { failureOf, newestTurns } from "../terminal/pick-turn.ts";
import { callGateway, findGateway, type GatewayClient, readHealth } from "./gateway-client.ts";
import { type GatewayFile, readGatewayFile } from "./gateway-file.ts";
import type { BackendInUse } from "./health-details.ts";

/** A gateway that has just started knows the IDE after its first look, which takes seconds at most. */
const againMs = 200;
const mostTries = 15;
const mostTurns = 50;

/** The running gateway as `millrace status` shows it. Counts are since its start. */
export interface GatewayStatus {
  readonly url: string;
  readonly file: GatewayFile | undefined;
  /** Where prompts go, with the reason; undefined while the first search runs. */
  readonly backend: BackendInUse | undefined;
  readonly turnLimit: Awaited<ReturnType<typeof readHealth>>["turn_limit"];
  readonly running: number;
  readonly waiting: number;
  readonly ended: number;
  readonly failed: number;
  /** Of the newest turns, the last one that failed. */
  readonly lastFailure: {
    readonly id: string;
    readonly model: string;
    readonly at: string;
    readonly reason: string;
  } | null;
}

/** Undefined where no gateway runs. Waits until a gateway that just started knows the IDE. */
export async function readGatewayStatus(context: CommandContext): Promise<GatewayStatus | undefined> {
  const { io, settings, signal } = context;
  const gateway = await findGateway(settings, signal);
  if (gateway === undefined) return undefined;
  let health = await readHealth(gateway, signal);
  for (let tries = 0; health.details?.backend === undefined && tries < mostTries; tries++) {
    await io.clock.sleep(againMs, signal);
    health = await readHealth(gateway, signal);
  }
  const metrics = await (await callGateway(gateway, "/metrics", { signal })).text();
  const backend = health.details?.backend;
  return {
    url: gateway.url,
    file: readGatewayFile(settings.gatewayFile),
    backend,
    turnLimit: health.turn_limit,
    running: sumOf(metrics, "millrace_turns_running"),
    waiting: sumOf(metrics, "millrace_turns_waiting"),
    ended: sumOf(metrics, "millrace_turns_ended_total"),
    failed: sumOf(metrics, "millrace_turns_ended_total", 'outcome="failed"'),
    lastFailure: await lastFailureOf(gateway, signal),
  };
}

/** What is left of the plans, from the gateway or the IDEs themselves. An IDE that does not answer is in `errors`. */
export async function readLimits(finder: IdeFinder, context: CommandContext): Promise<LimitsEnvelope | undefined> {
  const source = await limitsSource((of) => openLocalMeter(of, finder))(context);
  try {
    return await source.limits(context.signal);
  } catch {
    context.signal.throwIfAborted();
    return undefined; // the other lines are worth showing
  } finally {
    source.close();
  }
}

async function lastFailureOf(gateway: GatewayClient, signal: AbortSignal): Promise<GatewayStatus["lastFailure"]> {
  const turn = (await newestTurns(gateway, mostTurns, signal)).find(({ status }) => status === "failed");
  if (turn === undefined) return null;
  const reason = (await failureOf(turn.id, gateway, signal)) ?? "failed";
  return { id: turn.id, model: turn.model, at: turn.created_at, reason };
}

/** The sum of a metric's series with the label. */
function sumOf(text: string, name: string, label = ""): number {
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${name} `) || (line.startsWith(`${name}{`) && line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
