import type { GatewayProcess } from "../support/gateway-process.ts";
import type { CrashClient, Left, LogEvent, Question, Received } from "./crash-client.ts";

const terminal = new Set(["finished", "failed", "cancelled"]);

/** Which promises a turn broke, by its log and by what its client got: none if all is well. */
export async function checkTurn(
  gateway: GatewayProcess,
  received: Received,
  { answer }: Question,
  { plain = (text) => text }: CrashClient,
): Promise<string[]> {
  const broken = [...received.broken];
  const got = plain(received.text);
  if (got !== plain(answer)) broken.push(`the client got ${describe(got, plain(answer))}`);
  if (new Set(received.wireIds).size !== received.wireIds.length) broken.push("the client got an event twice");
  if (received.ids.some((id, i) => id < (received.ids[i - 1] ?? ""))) broken.push("the client got events out of order");

  const log = await received.readLog(gateway);
  const ids = log.map(({ eventId }) => eventId);
  if (ids.some((id, i) => i > 0 && id <= (ids[i - 1] ?? ""))) broken.push("the log's event ids do not rise");
  const last = log.at(-1);
  const ends = log.filter(({ type }) => terminal.has(type)).length;
  if (ends !== 1 || last?.type !== "finished")
    broken.push(`the log ends with ${last?.type}, and has ${ends} terminal events`);
  if (log.filter(({ type }) => type === "started").length !== 1) broken.push("the log has not exactly one `started`");
  const text = textOf(log);
  if (plain(text) !== plain(answer)) broken.push(`the log's deltas are ${describe(plain(text), plain(answer))}`);
  if (last?.text !== undefined && last.text !== answer) broken.push(`the final text is ${describe(last.text, answer)}`);
  const known = new Set(ids);
  const lost = received.ids.filter((id) => !known.has(id));
  if (lost.length > 0) broken.push(`${lost.length} events that the client got are not in the log`);
  return broken;
}

/**
 * Which promises a turn broke whose agent died while it answered: it ends once, by name, with what had arrived, and its client
 * has the same.
 */
export async function checkCut(
  gateway: GatewayProcess,
  left: Left,
  { answer }: Question,
  { plain = (text) => text }: CrashClient,
): Promise<string[]> {
  const broken = [...left.broken];
  const log = await left.readLog(gateway);
  const ends = log.filter(({ type }) => terminal.has(type)).length;
  if (ends !== 1 || log.at(-1)?.type !== "failed")
    broken.push(`the log ends with ${log.at(-1)?.type}, and has ${ends} terminal events`);
  const kept = plain(textOf(log));
  if (!plain(answer).startsWith(kept)) broken.push(`the log's deltas are ${describe(kept, plain(answer))}`);
  if (plain(left.text) !== kept) broken.push(`the client got ${describe(plain(left.text), kept)} of what was kept`);
  return broken;
}

function textOf(log: readonly LogEvent[]): string {
  let text = "";
  for (const event of log) {
    if (event.type === "text") text += event.delta ?? "";
    if (event.type === "rewritten") text = event.text ?? "";
  }
  return text;
}

function describe(text: string, expected: string): string {
  if (text === "") return "empty";
  let same = 0;
  while (same < text.length && text[same] === expected[same]) same++;
  return `${text.length} characters instead of ${expected.length}, equal for the first ${same}`;
}
