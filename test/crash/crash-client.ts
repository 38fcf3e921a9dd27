import type { EventId, TurnId } from "../../src/base/ids.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import type { Lives } from "./lives.ts";
import type { Progress } from "./progress.ts";

/** What one client asks, and what it must get. No other question has this name. */
export interface Question {
  readonly name: string;
  readonly answer: string;
  readonly model: string;
  /** Which deaths its client dies, where it is one that dies; drawn from the run's seed, 0 (inclusive) to 1. */
  readonly luck: readonly number[];
}

/** An event of the log, as the client that may read it sees it. */
export interface LogEvent {
  readonly eventId: string;
  readonly type: string;
  readonly delta?: string;
  readonly text?: string;
}

/** What a client got, over as many connections and lives as it took. */
export interface Received {
  /** Ids of the log's events that it got, in the order in which they came; those of the wire's own are left out. */
  readonly ids: readonly string[];
  /** The same as the wire had them, where an event of the log is several there. None twice. */
  readonly wireIds: readonly string[];
  readonly text: string;
  readonly connections: number;
  /** How often the client itself was killed. */
  readonly deaths: number;
  /** What the client alone can see of broken promises. */
  readonly broken: readonly string[];
  /** The log as it is at the end, read from its beginning. */
  readonly readLog: (gateway: GatewayProcess) => Promise<readonly LogEvent[]>;
}

/** One way of asking through a gateway that dies. Throws `Stalled` when nothing moves, any other error for a broken promise. */
export interface CrashClient {
  readonly name: string;
  /** How many prompts the IDE accepts for one question: one for each answer of the model. */
  readonly prompts: number;
  /** What counts of a text; all of it by default. */
  readonly plain?: (text: string) => string;
  ask(lives: Lives, question: Question, progress: Progress): Promise<Received>;
}

export class RuleBroken extends Error {}

/** What is left of a turn that failed: what its client has, and its log. */
export type Left = Pick<Received, "text" | "broken" | "readLog">;

/** The turn ended as failed, and said so: an answer that was refused in words is not one that was lost. */
export class TurnFailed extends Error {
  readonly left: Left | undefined;
  constructor(message: string, left?: Left) {
    super(message);
    this.left = left;
  }
}

/** The same with what its client has of it. */
export function withLeft(error: unknown, left: Left): unknown {
  return error instanceof TurnFailed && error.left === undefined ? new TurnFailed(error.message, left) : error;
}

/**
 * Whether a request was refused before anything was taken, and may be made again as it is: the IDE did not answer in time, as
 * happens on a machine that is busy enough. Clients do that by themselves.
 */
export function isRefused(response: Response): boolean {
  return response.status === 503 || response.status === 424;
}

/** Whether a request was answered with the stored failure of its turn, which its key gives from then on. */
export function isStoredFailure(status: number, body: string): boolean {
  return status >= 400 && /"code":"upstream_(?:failed|timeout)"|Idempotency-Key is spent/.test(body);
}

export const betweenTriesMs = 100;

/** The text of a question that is answered with exactly this. */
export function plainPrompt({ name, answer }: Question): string {
  return `${name}. [[sim: text="${answer}"]]`;
}

/** What a failure that a client was told means to it: the turn's end, or only that of the gateway, after which it asks again. */
export function toldFailure(failure: string): Error {
  return isStopping(failure) ? new GatewayStops() : new TurnFailed(failure);
}

export function isStopping(said: string): boolean {
  return said.includes("The gateway is stopping. The turn continues");
}

class GatewayStops extends Error {}

/** A connection that was refused or cut: what `fetch` makes of a dead gateway. Or the gateway said that it stops. */
export function isCut(error: unknown): boolean {
  if (error instanceof GatewayStops) return true;
  return error instanceof TypeError && /fetch failed|terminated/.test(error.message);
}

/** The log event behind a wire event's id; undefined for what comes before the first one. */
export function eventOf(wireId: string): EventId | undefined {
  const event = wireId.split(":")[1];
  return event === "0" ? undefined : (event as EventId | undefined); // the gateway's own ids
}

/** The log of the turn that a question's key names. */
export async function readLogByKey(gateway: GatewayProcess, { name }: Question): Promise<readonly LogEvent[]> {
  const headers = { authorization: `Bearer ${gateway.key}` };
  const listed = await fetch(`${gateway.url}/v1/turns?limit=1000`, { headers });
  const { data } = (await listed.json()) as { readonly data: readonly { id: TurnId; idempotency_key: string }[] };
  const turn = data.find(({ idempotency_key }) => idempotency_key === `key-of-${name}`);
  if (turn === undefined) throw new RuleBroken("its turn is not listed");
  return readTurnLog(gateway, turn.id);
}

/** A turn's log over `GET /v1/turns/{id}/events`. */
export async function readTurnLog({ url, key }: GatewayProcess, turnId: TurnId): Promise<readonly LogEvent[]> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/v1/turns/${turnId}/events?after=0`, { headers });
  const body = await response.text();
  if (response.status !== 200) throw new RuleBroken(`the log cannot be read: ${response.status} ${body}`);
  return body
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice(6)) as LogEvent); // the gateway's own wire
}
