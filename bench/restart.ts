import { parseArgs } from "node:util";
import { askChat } from "./load/ask.ts";
import { spread } from "./load/figures.ts";
import { openWorld } from "./load/gateway.ts";

/** From the start of a gateway after `kill -9` in the middle of answers, until a client that asks again has its first event. `--json` prints one object. */
const { values: options } = parseArgs({ options: { json: { type: "boolean", default: false } } });
const repeats = 5;
const rows: unknown[] = [];

for (const turns of [1, 50]) {
  const tookMs: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) tookMs.push(await restart(turns));
  const { median, min, max } = spread(tookMs);
  rows.push({ turns, firstEventMs: { median, min, max } });
  if (options.json) continue;
  console.log(
    `${String(turns).padStart(3)} running turns: ${median.toFixed(0)} ms (${min.toFixed(0)}-${max.toFixed(0)}), the start of the process included`,
  );
}

if (options.json) console.log(JSON.stringify({ bench: "restart", repeats, rows }));

async function restart(turns: number): Promise<number> {
  const world = await openWorld({ characters: 1_000, charactersPerSecond: 200, firstMs: 100 });
  try {
    const first = await world.start();
    const named = Array.from({ length: turns }, (_, turn) => `Restart, turn ${turn}.`);
    const keyOf = (name: string) => ({ "idempotency-key": name });
    const begun = named.map(
      (name) =>
        new Promise<void>((resolve) => {
          askChat(first, name, { headers: keyOf(name), onFirst: resolve }).catch(() => {}); // it is killed
        }),
    );
    await Promise.all(begun);
    await first.kill();
    const startedAt = performance.now();
    const second = await world.start();
    try {
      let tookMs = Number.NaN;
      const [name = ""] = named;
      const onFirst = () => {
        tookMs = performance.now() - startedAt;
      };
      await askChat(second, name, { headers: keyOf(name), onFirst });
      return tookMs;
    } finally {
      await second.stop();
    }
  } finally {
    world.close();
  }
}
