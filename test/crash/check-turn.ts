import type { GatewayProcess } from "../support/gateway-process.ts";
import type { Received } from "./tenacious-client.ts";

interface LogEvent {
  readonly eventId: string;
  readonly type: string;
  readonly delta?: string;
  readonly text?: string;
}

const terminal = new Set(["finished", "failed", "cancelled"]);

/** Which promises a turn broke, by its log and by what its client got: none if all is well. */
export async function checkTurn(gateway: GatewayProcess, received: Received, expected: string): Promise<string[]> {
  const broken: string[] = [];
  if (received.text !== expected) broken.push(`the client got ${describe(received.text, expected)}`);
  if (new Set(received.ids).size !== received.ids.length) broken.push("the client got an event twice");

  const log = await readLog(gateway, received.turnId);
  const ids = log.map(({ eventId }) => eventId);
  if (ids.some((id, i) => i > 0 && id <= (ids[i - 1] ?? ""))) broken.push("the log's event ids do not rise");
  const last = log.at(-1);
  if (log.filter(({ type }) => terminal.has(type)).length !== 1 || last?.type !== "finished") {
    broken.push(
      `the log ends with ${last?.type}, and terminal events are ${log.filter((e) => terminal.has(e.type)).length}`,
    );
  }
  if (log.filter(({ type }) => type === "started").length !== 1) broken.push("the log has not exactly one `started`");
  let text = "";
  for (const event of log) {
    if (event.type === "text") text += event.delta ?? "";
    if (event.type === "rewritten") text = event.text ?? "";
  }
  if (text !== expected) broken.push(`the log's deltas are ${describe(text, expected)}`);
  if (last?.text !== expected) broken.push(`the final text is ${describe(last?.text ?? "", expected)}`);
  const known = new Set(ids);
  const lost = received.ids.map(eventOf).filter((id) => id !== undefined && !known.has(id));
  if (lost.length > 0) broken.push(`${lost.length} events that the client got are not in the log`);
  return broken;
}

/** The log event behind a wire event's id; undefined for what comes before the first one. */
function eventOf(wireId: string): string | undefined {
  const event = wireId.split(":")[1];
  return event === "0" ? undefined : event;
}

async function readLog(gateway: GatewayProcess, turnId: string): Promise<readonly LogEvent[]> {
  const response = await fetch(`${gateway.url}/v1/turns/${turnId}/events?after=0`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`the log cannot be read: ${response.status} ${body}`);
  return body
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice(6)) as LogEvent); // the gateway's own wire
}

function describe(text: string, expected: string): string {
  if (text === "") return "empty";
  let same = 0;
  while (same < text.length && text[same] === expected[same]) same++;
  return `${text.length} characters instead of ${expected.length}, equal for the first ${same}`;
}
