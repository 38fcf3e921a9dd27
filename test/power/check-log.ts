import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { isMillraceError } from "../../src/base/errors.ts";
import { startOfLog, type TurnId } from "../../src/base/ids.ts";
import { Secret } from "../../src/base/secret.ts";
import { openFileLog } from "../../src/log/memory-log.fake.ts";
import type { LogStore, TurnLabel } from "../../src/log/store.ts";
import { deltaOf, logKey, streamNamed } from "./log-pattern.ts";

/**
 * Opens what a loss of power left of a log with the real store, and says which promises it broke: everything that was said to be
 * durable is there, each turn is a beginning of what was written to it, and one that is open can be gone on with.
 */
export async function checkLog(folder: string, said: readonly string[]): Promise<string[]> {
  const broken: string[] = [];
  let setAside: string | undefined;
  const store = await openFileLog({
    path: join(folder, "log.db"),
    clock: systemClock,
    gatewayKey: new Secret(logKey),
    onSetAside: (copy) => (setAside = copy),
  });
  try {
    if (setAside !== undefined) return ["the file was taken for damaged and set aside"];
    const streamOf = new Map<string, ReturnType<typeof streamNamed>>();
    const last = new Map<string, readonly string[]>();
    for (const line of said) {
      const [what = "", name = "", third = "", turnId] = line.split(" ");
      if (what === "attached") await mustHaveMessages(store, name, 0, broken);
      else if (what === "admitted") {
        if (turnId !== undefined) {
          streamOf.set(turnId, streamNamed(numberOf(name)));
          last.set(turnId, ["created", turnId]);
        }
        await mustHaveMessages(store, name, Number(third) + 1, broken);
      } else last.set(name, line.split(" "));
    }
    for (const [turnId, words] of last) {
      const problem = await mustHaveTurn(store, turnId as TurnId, words, said, streamOf.get(turnId)?.clientKey); // it was said so
      if (problem !== undefined) broken.push(`${words.join(" ")}: ${problem}`);
    }
    const open = (await store.listRunning()).slice(0, 1);
    for (const record of open) await mustBeWritable(store, record, broken);
  } finally {
    await store.close();
  }
  return broken;
}

async function mustHaveMessages(store: LogStore, name: string, count: number, broken: string[]): Promise<void> {
  try {
    const { accepted } = await store.attachStream(streamNamed(numberOf(name)), "observe");
    const payloads = accepted.map(({ payload }) => Buffer.from(payload).toString());
    if (payloads.length < count) broken.push(`${name} has ${payloads.length} messages, and ${count} were acknowledged`);
    if (payloads.some((payload, i) => payload !== `${name} ${i}`))
      broken.push(`${name} has a message that no client sent`);
  } catch (error) {
    broken.push(`${name} is gone: ${String(error)}`);
  }
}

async function mustHaveTurn(
  store: LogStore,
  turnId: TurnId,
  [what, , count]: readonly string[],
  said: readonly string[],
  clientKey: Secret | undefined,
): Promise<string | undefined> {
  const opening = clientKey === undefined ? {} : { clientKey };
  const record = await store.get(turnId, opening);
  if (record === undefined) return "it is gone";
  const { events } = await store.readAfter(turnId, startOfLog, { limit: 1_000, ...opening });
  const [first] = events;
  if (what !== "created" && first?.type !== "started") return `its log begins with ${first?.type}`;
  if (said.includes(`cancelled ${turnId}`) && record.cancelRequested === undefined && !record.ended)
    return "its cancel is gone";
  const deltas = events.flatMap((event) => (event.type === "text" ? event.delta : []));
  if (deltas.some((delta, i) => delta !== deltaOf(turnId, i))) return "its deltas are not those that were written";
  const end = events.at(-1);
  if (what === "ended" && (end?.type !== "finished" || deltas.length !== Number(count)))
    return `it ended with ${count} deltas, and now has ${deltas.length} and ${end?.type}`;
  if (end?.type === "finished" && end.text !== deltas.join("")) return "its end has another text";
  const others = events.filter(({ type }, i) => type !== "text" && !(type === "started" && i === 0));
  if (others.length > (end?.type === "finished" ? 1 : 0)) return "it has events that were never written";
  return undefined;
}

/** It can be taken over and ended. */
async function mustBeWritable(store: LogStore, record: TurnLabel, broken: string[]): Promise<void> {
  try {
    const claimed = await store.claim(record.turnId, "after the power came back");
    const events = (await claimed?.readAll()) ?? [];
    const body = { type: "cancelled", by: "abandoned" } as const;
    const appended = await claimed?.writer.append([body], systemClock.now());
    if (appended !== "appended") broken.push(`${record.turnId} cannot be gone on with after ${events.length} events`);
  } catch (error) {
    const what = isMillraceError(error) ? error.message : String(error);
    broken.push(`${record.turnId} cannot be gone on with: ${what}`);
  }
}

function numberOf(stream: string): number {
  return Number(stream.slice("stream-".length));
}
