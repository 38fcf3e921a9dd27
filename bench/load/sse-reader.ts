import { Agent, type IncomingMessage, request } from "node:http";
import { type Growth, type Lags, lagsOf, nowMs } from "./answer.ts";

/** What the process is told to do, once. */
export interface ReadOrder {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly growth: Growth;
  readonly streams: number;
  /** One answer after another; all at once otherwise. */
  readonly inTurn?: boolean;
  /** Names the round, so that no two requests are the same. */
  readonly round: string;
}

export interface ReadReport {
  readonly lags: readonly Lags[];
  /** Why each answer that is not among them failed. */
  readonly failures: readonly string[];
}

const agent = new Agent({ keepAlive: true });

/** Asks as an OpenAI client does, and notes when each part of the answer arrives. */
async function read(order: ReadOrder, number: number): Promise<Lags> {
  const askedAtMs = nowMs();
  const content = `Load ${order.round}, answer ${number}.`;
  const body = JSON.stringify({ model: order.model, stream: true, messages: [{ role: "user", content }] });
  const response = await post(`${order.url}/v1/chat/completions`, order.key, body);
  response.setEncoding("utf8");
  const points: { atMs: number; length: number }[] = [];
  let [text, rest, endAtMs] = ["", "", Number.NaN];
  for await (const piece of response as AsyncIterable<string>) {
    const atMs = nowMs();
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "data: [DONE]") endAtMs = atMs;
      else if (line.startsWith("data: ")) {
        const event = JSON.parse(line.slice(6)) as {
          readonly choices?: readonly { readonly delta?: { readonly content?: string } }[];
          readonly error?: unknown;
        }; // the gateway's own wire
        if (event.error !== undefined || response.statusCode !== 200) throw new Error(line);
        text += event.choices?.[0]?.delta?.content ?? "";
      } else if (response.statusCode !== 200 && line !== "") throw new Error(`${response.statusCode}: ${line}`);
    }
    if (text.length > (points.at(-1)?.length ?? 0)) points.push({ atMs, length: text.length });
  }
  if (Number.isNaN(endAtMs)) throw new Error(`${response.statusCode} ended without [DONE]: ${rest.slice(0, 300)}`);
  return lagsOf({ askedAtMs, points, endAtMs }, text.slice(0, 24), order.growth);
}

function post(url: string, key: string, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    request(url, { method: "POST", headers, agent }, resolve).on("error", reject).end(body);
  });
}

process.once("message", (order: ReadOrder) => void run(order));

async function run(order: ReadOrder): Promise<void> {
  const numbers = Array.from({ length: order.streams }, (_, number) => number);
  const results: PromiseSettledResult<Lags>[] = [];
  if (order.inTurn === true)
    for (const number of numbers) results.push(...(await Promise.allSettled([read(order, number)])));
  else results.push(...(await Promise.allSettled(numbers.map((number) => read(order, number)))));
  agent.destroy();
  const report: ReadReport = {
    lags: results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])),
    failures: results.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : [])),
  };
  process.send?.(report, () => process.disconnect());
}
