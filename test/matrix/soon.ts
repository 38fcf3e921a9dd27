import { expect } from "vitest";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { processorWaitMs } from "../support/processor-wait.ts";

/** A client has its message within 10 s of its request. */
const soonMs = 10_000;
/** Where the system does not tell how long a process waited for a processor, a busy machine may take three times as long. */
const slowMachine = 3;

/**
 * What `ask` is told, which must come soon. The time that the gateway and this process waited for a processor does not count: it
 * is the machine's other work. On an idle machine there is next to none.
 */
export async function soon<Told>(
  { pid }: GatewayProcess,
  how: string,
  ask: () => Promise<Told>,
  awayMs = 0,
): Promise<Told> {
  const waited = () => processorWaitMs([pid, process.pid]);
  const [sinceMs, before] = [performance.now(), waited()];
  const told = await ask();
  const [tookMs, after] = [performance.now() - sinceMs, waited()];
  const ownMs = before === undefined || after === undefined ? tookMs / slowMachine : tookMs - (after - before);
  expect(ownMs, `${how}: ${Math.round(tookMs)} ms until the client was told`).toBeLessThan(soonMs + awayMs);
  return told;
}
