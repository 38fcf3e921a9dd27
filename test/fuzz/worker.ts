import { parentPort, workerData } from "node:worker_threads";
import { isMillraceError } from "../../src/base/errors.ts";
import { generator } from "../support/long-suite.ts";
import { Coverage } from "./coverage.ts";
import { mutate } from "./mutate.ts";
import { targets } from "./targets/targets.ts";

/** What the thread is told at its start. */
export interface FuzzOrder {
  readonly target: string;
  readonly seed: number;
  readonly forMs: number;
  readonly corpus: readonly Uint8Array[];
  /** The input that runs now: how many were begun, its length, its bytes. The other thread looks while this one hangs. */
  readonly now: SharedArrayBuffer;
}

export interface FuzzReport {
  readonly inputs: number;
  readonly parts: number;
  /** Inputs that reached something new and are not in the corpus, shortest first. */
  readonly found: readonly Uint8Array[];
  readonly finding: { readonly input: Uint8Array; readonly why: string } | undefined;
}

/** How many inputs run between two looks at the counters: a look costs as much as many inputs. */
const batch = 40;
const mostBytes = 256 * 2 ** 20;

const order = workerData as FuzzOrder; // from the parent
const [begun, bytes] = [new Int32Array(order.now, 0, 2), new Uint8Array(order.now, 8)];
const target = targets.find(({ name }) => name === order.target);
if (target === undefined) throw new Error(`there is no target ${order.target}`);
const coverage = new Coverage();
const random = generator(order.seed);
const pool: Uint8Array[] = [];
const found: Uint8Array[] = [];
let inputs = 0;

/** Runs one input; answers why it is a finding. */
async function tryOne(input: Uint8Array): Promise<string | undefined> {
  inputs++;
  const shown = input.subarray(0, bytes.length);
  bytes.set(shown);
  begun[1] = shown.length;
  Atomics.add(begun, 0, 1);
  try {
    await target?.run(input);
  } catch (error) {
    const isClear = isMillraceError(error)
      ? error.code !== "internal" && error.message !== ""
      : target?.refuses?.(error);
    if (isClear !== true) return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  const { external } = process.memoryUsage();
  return external > mostBytes ? `it holds ${Math.round(external / 2 ** 20)} MiB outside the heap` : undefined;
}

async function fuzz(): Promise<FuzzReport["finding"]> {
  for (const input of [...((await target?.seeds()) ?? []), ...order.corpus]) {
    const why = await tryOne(input);
    if (why !== undefined) return { input, why };
    pool.push(input);
  }
  coverage.take();
  const pick = () => pool[Math.floor(random() * pool.length)] ?? new Uint8Array();
  for (const until = performance.now() + order.forMs; performance.now() < until; ) {
    const tried: Uint8Array[] = [];
    for (let i = 0; i < batch; i++) {
      const input = target === undefined ? pick() : mutate(target, pick(), pick(), random);
      const why = await tryOne(input);
      if (why !== undefined) return { input, why };
      tried.push(input);
    }
    if (coverage.take() === 0) continue;
    // Some input of this batch did something new. The counters do not say which: each that is kept may lead further.
    const shortest = tried.sort((a, b) => a.length - b.length).slice(0, 4);
    pool.push(...shortest);
    found.push(...shortest.slice(0, 1));
  }
  return undefined;
}

const finding = await fuzz();
const report: FuzzReport = { inputs, parts: coverage.size, found: found.sort((a, b) => a.length - b.length), finding };
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(report);
process.exit(); // servers of a target may still listen
