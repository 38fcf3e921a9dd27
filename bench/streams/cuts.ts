import { createParser } from "eventsource-parser";
import { startSimulator } from "../../src/simulator/start.ts";
import { CuttingProxy } from "../../test/cut/cutting-proxy.ts";
import { eventsOf, exchange } from "../../test/cut/exchange.ts";
import { type Surface, surfaces } from "../../test/cut/surfaces.ts";
import { type GatewayProcess, startGatewayProcess } from "../../test/support/gateway-process.ts";
import { pinnedTo } from "../../test/support/pinned.ts";
import { costOf } from "../gateway/process-cost.ts";

/** An answer that comes slowly enough to have a hundred events and more: one for each poll. */
export const directive = "[[sim: size=3000 rate=600 chunk=4 thinking=0]]";

/** What one way of asking showed: times in ms, bytes of response bodies. */
export interface CutsMeasured {
  readonly surface: string;
  readonly events: number;
  readonly firstNewMs: readonly number[];
  readonly resentBytes: number;
  readonly usefulBytes: number;
}

/**
 * Real cuts of real connections: a finished answer is asked for through a proxy that cuts after a byte (each time another,
 * spread over all of them), the client comes back with its cursor, and the time until the first event it lacked is taken.
 */
export async function measureCuts(store: "sqlite" | "memory", cuts: number): Promise<readonly CutsMeasured[]> {
  return withGateway(store, async (gateway) => {
    await using proxy = await CuttingProxy.open(Number(new URL(gateway.url).port));
    const measured: CutsMeasured[] = [];
    for (const surface of surfaces) measured.push(await cutOne(gateway, proxy, surface, cuts));
    return measured;
  });
}

/** Answers streamed at once through a gateway: its own CPU time for each event, in µs. */
export async function measureStreaming(store: "sqlite" | "memory", turns: number): Promise<number> {
  return withGateway(store, async (gateway) => {
    const [surface] = surfaces;
    if (surface === undefined) throw new Error("there is no surface to ask through");
    const ask = (turn: number) =>
      read(gateway, surface.ask(`Stream ${turn}. ${directive}`, `stream-${turn}`, gateway.key, undefined));
    await ask(-1); // warm
    const before = costOf(gateway.pid)?.cpuMs ?? Number.NaN;
    const answers = await Promise.all(Array.from({ length: turns }, (_, turn) => ask(turn)));
    const events = answers.reduce((sum, { ids }) => sum + ids.length, 0);
    return (((costOf(gateway.pid)?.cpuMs ?? Number.NaN) - before) / events) * 1_000;
  });
}

/** A gateway with such a log and a stand-in IDE, for as long as the work takes. */
export async function withGateway<T>(
  store: "sqlite" | "memory",
  work: (gateway: GatewayProcess) => Promise<T>,
): Promise<T> {
  await using simulator = await startSimulator({ plan: { unlimited: true } });
  const args = [...pinnedTo(simulator), "--store", store, "--continuity", "off"];
  const gateway = await startGatewayProcess({ home: simulator.home, args });
  try {
    return await work(gateway);
  } finally {
    await gateway.stop();
  }
}

async function cutOne(
  gateway: GatewayProcess,
  proxy: CuttingProxy,
  surface: Surface,
  cuts: number,
): Promise<CutsMeasured> {
  const asked = (after: string | undefined) =>
    surface.ask(`A question of ${surface.name}. ${directive}`, `cut-${surface.name}`, gateway.key, after);
  await read(gateway, asked(undefined));
  const whole = await read(gateway, asked(undefined)); // from the log, as every one after it
  const firstNewMs: number[] = [];
  let received = 0;
  for (let cut = 0; cut < cuts; cut++) {
    const afterBytes = 1_000 + Math.floor((cut * (whole.bytes - 2_000)) / cuts);
    proxy.cut = { direction: "down", afterBytes, how: cut % 2 === 0 ? "fin" : "rst" };
    const { text } = await exchange(proxy.port, asked(undefined));
    const had = eventsOf(text).flatMap(({ id }) => id ?? []);
    const rest = await read(gateway, asked(had.at(-1)));
    if ([...had, ...rest.ids].join() !== whole.ids.join()) throw new Error(`${surface.name}: another answer`);
    firstNewMs.push(rest.firstMs);
    received += Buffer.byteLength(text) + rest.bytes;
  }
  const usefulBytes = cuts * whole.bytes;
  return {
    surface: surface.name,
    events: whole.ids.length,
    firstNewMs,
    resentBytes: received - usefulBytes,
    usefulBytes,
  };
}

/** Reads an answer to its end. */
async function read(
  gateway: GatewayProcess,
  { path, method, headers, body }: ReturnType<Surface["ask"]>,
): Promise<{ readonly ids: readonly string[]; readonly bytes: number; readonly firstMs: number }> {
  const askedAt = performance.now();
  let firstMs = Number.NaN;
  const ids: string[] = [];
  const parser = createParser({
    onEvent({ id }) {
      if (id === undefined) return;
      if (ids.length === 0) firstMs = performance.now() - askedAt;
      ids.push(id);
    },
  });
  const response = await fetch(`${gateway.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  if (response.status !== 200 || response.body === null) throw new Error(`${response.status} ${await response.text()}`);
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const piece of response.body) {
    bytes += piece.byteLength;
    parser.feed(decoder.decode(piece, { stream: true }));
  }
  return { ids, bytes, firstMs };
}
