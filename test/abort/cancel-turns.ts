import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { AbortWorld } from "./abort-world.ts";
import { longAnswer, longRate, shortAnswer } from "./stream-steps.ts";

const model = "claude-sonnet-4.6";

/** How far a turn has come when it is cancelled: told by what came of its stream. */
const steps = {
  "at its head": { size: longAnswer, reached: () => true },
  "after the first text": { size: longAnswer, reached: (text: string) => deltas(text) >= 1 },
  "after five texts": { size: longAnswer, reached: (text: string) => deltas(text) >= 5 },
  "before the end": { size: shortAnswer, reached: (text: string) => deltas(text) >= 1 },
  "after the end": { size: shortAnswer, reached: (text: string) => /\[DONE\]|response\.completed/.test(text) },
} as const;
type StepName = keyof typeof steps;
const stepNames = Object.keys(steps) as readonly StepName[]; // they are its keys

/** Which API asks, and how its turn is cancelled. */
const apis = {
  turns: {
    ask: "/v1/chat/completions",
    body: (content: string) => ({ model, stream: true, messages: [{ role: "user", content }] }),
    cancel: (id: string) => `/v1/turns/${id}/cancel`,
  },
  responses: {
    ask: "/v1/responses",
    body: (input: string) => ({ model, stream: true, background: true, input }),
    cancel: (id: string) => `/v1/responses/${id}/cancel`,
  },
} as const;
type ApiName = keyof typeof apis;

const ways = ["once", "twice", "its answer lost, and again", "its reader gone"] as const;
type Way = (typeof ways)[number];

export interface CancelCase {
  readonly api: ApiName;
  readonly step: StepName;
  readonly way: Way;
}

/** Every step of a turn, in both APIs, in every way. */
export const everyCancel: readonly CancelCase[] = (Object.keys(apis) as ApiName[]).flatMap((api) =>
  stepNames.flatMap((step) => ways.map((way) => ({ api, step, way }))),
);

/** As `abortStreams`: cancels each of these turns over HTTP, and answers what broke. */
export async function cancelTurns(
  world: AbortWorld,
  cases: readonly CancelCase[],
  { atOnce, dies }: { readonly atOnce: number; readonly dies: boolean },
): Promise<readonly string[]> {
  const broken: string[] = [];
  for (let from = 0; from < cases.length; from += atOnce) {
    const group = await Promise.all(
      cases.slice(from, from + atOnce).map((one, at) => cancelled(world, one, from + at)),
    );
    if (dies) await world.die();
    broken.push(...(await Promise.all(group.map((one) => brokenIn(world, one)))).flat());
  }
  return [...broken, ...(await world.leftBehind())];
}

interface Cancelled extends CancelCase {
  readonly name: string;
  readonly turnId: string;
  readonly statuses: readonly number[];
}

async function cancelled(world: AbortWorld, one: CancelCase, number: number): Promise<Cancelled> {
  const { ask, body, cancel } = apis[one.api];
  const { size, reached } = steps[one.step];
  const name = `cancelled-${number}-end`;
  const rate = size === longAnswer ? longRate : 400;
  const stream = open(world, ask, body(`[[sim: size=${size} rate=${rate}]] ${name}`));
  const { turnId, id } = await stream.until(reached);
  const post = async (gateway = world.gateway) => {
    const headers = { authorization: `Bearer ${gateway.key}` };
    const response = await fetch(`${gateway.url}${cancel(one.api === "turns" ? turnId : id)}`, {
      method: "POST",
      headers,
    });
    await response.text();
    return response.status;
  };
  if (one.way === "its reader gone") stream.leave();
  if (one.way === "its answer lost, and again") await world.withLostAnswers((gateway) => post(gateway).catch(() => 0));
  const statuses = [await post(), ...(one.way === "once" ? [] : [await post()])];
  stream.leave();
  return { ...one, name, turnId, statuses };
}

/** What is wrong with a cancelled turn: by what was answered, by its log read twice, and by what the IDE was asked. */
async function brokenIn(world: AbortWorld, { api, step, way, name, turnId, statuses }: Cancelled) {
  const which = `${api}, ${step}, ${way}`;
  const broken: string[] = [];
  if (statuses.some((status) => status !== 200)) broken.push(`${which}: answered ${statuses.join()}`);
  const [first, second] = [
    await world.read(`/v1/turns/${turnId}/events`),
    await world.read(`/v1/turns/${turnId}/events`),
  ];
  const ends = [...first.matchAll(/"type":"(finished|failed|cancelled)"/g)].map(([, type]) => type);
  const mayEnd = steps[step].size === shortAnswer;
  if (ends.length !== 1 || !(ends[0] === "cancelled" || (mayEnd && ends[0] === "finished")))
    broken.push(`${which}: ended as ${ends.join() || "nothing"}`);
  if (first !== second) broken.push(`${which}: reads otherwise the second time`);
  const prompts = (await world.ide.report()).messages.filter(({ text }) => text.includes(name)).length;
  if (prompts > 1) broken.push(`${which}: ${prompts} prompts`);
  return broken;
}

/** A streamed answer, read as text as far as it came. */
function open({ gateway }: AbortWorld, path: string, body: object) {
  const headers = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" };
  const sent = request(`${gateway.url}${path}`, { method: "POST", headers, agent: false });
  const answered = once(sent, "response");
  sent.on("error", () => {}); // it is cut on purpose
  sent.end(JSON.stringify(body));
  return {
    leave: () => void sent.destroy(),
    async until(reached: (text: string) => boolean) {
      const [response] = (await answered) as [IncomingMessage];
      response.on("error", () => {}); // as above
      let text = "";
      const turnId = String(response.headers["x-millrace-turn"]);
      const isThere = () => reached(text) && (path !== "/v1/responses" || /"id":"resp_/.test(text));
      while (!isThere() && !response.closed) {
        const next = response.read() as Buffer | null;
        if (next !== null) text += next.toString();
        else await Promise.race([once(response, "readable"), once(response, "close")]);
      }
      response.resume();
      return { turnId, id: /"id":"(resp_[^"]+)"/.exec(text)?.[1] ?? "" };
    },
  };
}

function deltas(text: string): number {
  return text.match(/"delta":\{[^}]*"content":"[^"]|^event: response\.output_text\.delta/gm)?.length ?? 0;
}
