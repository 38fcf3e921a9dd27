import { appendFileSync, existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isMillraceError } from "../../src/base/errors.ts";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { openMemoryRecordStore } from "../../src/client/records/memory-record-store.ts";
import type { RecordStore } from "../../src/client/records/record-store.ts";
import { startReliableStream } from "../../src/client/stream/open-stream.ts";
import type { ReliableStream } from "../../src/client/stream/stream.ts";
import type { StreamEvent } from "../../src/client/stream/stream-event.ts";
import type { StreamOptions } from "../../src/client/stream/stream-options.ts";
import type { Tier } from "../../src/client/tiers/tier.ts";
import { detailsOf, rawClient } from "../../src/gateway/streams/raw-client.fake.ts";
import { StreamEnd_Outcome } from "../../src/proto/aiserver/v1/chat_pb.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import {
  betweenTriesMs,
  type CrashClient,
  type LogEvent,
  type Question,
  type Received,
  RuleBroken,
  TurnFailed,
} from "./crash-client.ts";
import type { Lives } from "./lives.ts";
import type { Progress } from "./progress.ts";

/** The stream's name and its key: what a reader needs to see its log. */
export interface Names {
  readonly streamKey: string;
  readonly encryptionKey: string;
}

export const toolResult = "a-file b-file";

/** A question whose answer has two halves with a call of `bash` between them. */
export function toolRequest({ name, answer, model }: Pick<Question, "name" | "answer" | "model">) {
  const middle = answer.indexOf("; ", answer.length / 2);
  const half = (middle < 0 ? answer.lastIndexOf("; ") : middle) + 1;
  const script = `[[agent\nsay ${answer.slice(0, half)}\ncall bash\n---\nsay ${answer.slice(half + 1)}\n]]`;
  const parameters = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
  return {
    model,
    messages: [{ role: "user" as const, text: `${name}. ${script}` }],
    tools: [{ name: "bash", description: "Runs a command.", parameters }],
  };
}

/** Patience for a gateway that dies all the time: short waits, and no end of them, also where several die before the first welcome. */
export const backoff = { baseMs: 50, capMs: 500, budget: 10_000 };
export const patience = { reachMs: 600_000 };

/** A store that tells what a stream is called as soon as it is stored. */
export function tellingNames(store: RecordStore, tell: (names: Names) => void): RecordStore {
  return {
    survivesRestart: store.survivesRestart,
    list: () => store.list(),
    peek: (streamKey) => store.peek(streamKey),
    take: async (streamKey) => {
      const owned = await store.take(streamKey);
      if (owned === undefined) return undefined;
      return {
        read: () => owned.read(),
        save: async (record) => {
          await owned.save(record);
          tell({ streamKey: record.streamKey, encryptionKey: record.encryptionKey });
        },
        remove: () => owned.remove(),
        setAside: () => owned.setAside(),
        release: () => owned.release(),
      };
    },
  };
}

/**
 * An application: reads a stream to its end, runs the tool (its effect is a line in a file) and hands on what it is given.
 * A call that may have run already is not run again. `refused`: nothing was taken, and it may be asked anew.
 */
export async function runApplication(
  stream: ReliableStream,
  effects: string,
  hand: (event: StreamEvent) => void,
): Promise<"ended" | "refused"> {
  let isTaken = false;
  try {
    for await (const event of stream.events) {
      isTaken = true;
      hand(event);
      if (event.type !== "tool_call") continue;
      await stream.runTool(event, async () => {
        appendFileSync(effects, `${event.callId}\n`);
        return { text: toolResult };
      });
    }
    return "ended";
  } catch (error) {
    if (isTaken || !isMillraceError(error) || error.code !== "ide_not_running") throw error;
    await new Promise((resolve) => setTimeout(resolve, betweenTriesMs));
    return "refused";
  }
}

/** The library as the client, in this process, one for each tier. */
export const streamClients: readonly CrashClient[] = (["bidi", "sse", "poll"] as const).map((tier) => ({
  name: `stream protocol, ${tier}`,
  prompts: 2,
  plain: flat,
  ask: (lives, question, progress) => ask(tier, lives, question, progress),
}));

async function ask(tier: Tier["name"], lives: Lives, question: Question, progress: Progress): Promise<Received> {
  const effects = join(mkdtempSync(join(tmpdir(), "millrace-effects-")), "effects");
  const events: StreamEvent[] = [];
  let names: Names | undefined;
  let connections = 0;
  const options: StreamOptions = {
    gateway: nodeLink(() => lives.current(), { tiers: [tier] }),
    store: tellingNames(openMemoryRecordStore(), (told) => (names = told)),
    backoff,
    patience,
    onConnection: ({ state }) => {
      if (state === "attached") connections++;
    },
  };
  for (let became = "refused"; became === "refused"; ) {
    const stream = await startReliableStream(toolRequest(question), options, progress.signal);
    became = await runApplication(stream, effects, (event) => {
      events.push(event);
      progress.note(`an event of ${question.name}`);
    });
  }
  if (names === undefined) throw new RuleBroken("the stream was never stored");
  return { ...receivedOf(events, names, effectsIn(effects)), connections, deaths: 0 };
}

/**
 * What an application was handed over its lives, held against what can be seen from here. A call whose result an earlier life
 * did not give is handed out again: it counts by its effects.
 */
export function receivedOf(
  events: readonly StreamEvent[],
  names: Names,
  effects: readonly string[],
): Omit<Received, "connections" | "deaths"> {
  const broken: string[] = [];
  const ends = events.filter(({ type }) => type === "end");
  const [end] = ends;
  if (ends.length !== 1 || events.at(-1)?.type !== "end") broken.push(`it was handed ${ends.length} ends`);
  if (effects.length > 1) broken.push(`its tool ran ${effects.length} times`);
  let text = "";
  for (const event of events) {
    if (event.type === "text") text += event.delta;
    if (event.type === "rewritten") text = event.text;
  }
  const readLog: Received["readLog"] = (gateway) => observe(gateway, names);
  if (end?.type === "end" && end.outcome !== "finished")
    throw new TurnFailed(JSON.stringify(end), { text, broken, readLog });
  const ids = events.filter(({ type }) => type !== "tool_call").map(({ eventId }) => eventId);
  return { ids, wireIds: ids, text, broken, readLog };
}

/** Lines of a file; none where there is none. */
export function effectsIn(path: string): readonly string[] {
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
}

/** A model may put any white space between text and call, so the two halves of an answer are compared without it. */
export function flat(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

/** The stream's log from its beginning, as a reader that takes nothing from the writer. */
async function observe(gateway: GatewayProcess, { streamKey, encryptionKey }: Names): Promise<readonly LogEvent[]> {
  const attach = rawClient(gateway).attach("sse", {
    "x-idempotency-key": streamKey,
    "x-idempotent-encryption-key": encryptionKey,
    "x-idempotency-event-id": "0",
    "x-millrace-intent": "observe",
  });
  attach.endInput();
  const error = await attach.ended;
  const failed = detailsOf(error).info["code"]?.startsWith("upstream_") === true; // how a client of the original hears of it
  if (error !== undefined && !failed) throw new RuleBroken(`the log cannot be read: ${error.message}`);
  const log: LogEvent[] = attach.chunks.map(({ eventId, response, streamEnd }) => {
    if (streamEnd !== undefined)
      return { eventId, type: streamEnd.outcome === StreamEnd_Outcome.FINISHED ? "finished" : "failed" };
    if (response.case === "streamStart") return { eventId, type: "started" };
    if (response.case !== "streamUnifiedChatResponse") return { eventId, type: response.case ?? "" };
    const { text, rewrittenText } = response.value;
    return rewrittenText === undefined
      ? { eventId, type: "text", delta: text }
      : { eventId, type: "rewritten", text: rewrittenText };
  });
  if (failed) return attach.end === undefined ? [...log, { eventId: "", type: "failed" }] : log;
  if (attach.end?.eventCount !== log.length - 1)
    throw new RuleBroken(`the end counts ${attach.end?.eventCount} events of ${log.length - 1}`);
  return log;
}
