import { quantile } from "./gateway/curve.ts";
import { costOf } from "./gateway/process-cost.ts";
import { median } from "./load/figures.ts";
import { model, openWorld } from "./load/gateway.ts";
import { readWatched } from "./load/read-watched.ts";
const [binsArg = "", streamsArg = "16", roundsArg = "2", stepsArg, charsArg] = process.argv.slice(2);
const growth = { characters: Number(charsArg ?? 2_000), charactersPerSecond: 200, firstMs: 250 };
const bins = binsArg.split(",");
const worlds = [];
for (const bin of bins) {
  const world = await openWorld(growth, stepsArg === "steps");
  const gateway = await world.start([], { bin });
  await readWatched({ url: gateway.url, key: gateway.key, model, growth, streams: 1, round: "w" });
  worlds.push({ bin, world, gateway });
}
const out = new Map<string, any[]>();
for (const streams of streamsArg.split(",").map(Number))
  for (let round = 0; round < Number(roundsArg); round++)
    for (const { bin, world, gateway } of round % 2 ? [...worlds].reverse() : worlds) {
      const before = costOf(gateway.pid)!.cpuMs;
      const p0 = (await world.report()).polls;
      const { lags, failures, slowestHealthMs } = await readWatched({ url: gateway.url, key: gateway.key, model, growth, streams, round: `${streams} ${round}` });
      const after = costOf(gateway.pid)!;
      const polls = (await world.report()).polls - p0;
      const q = (xs: number[]) => `${quantile(xs, 0.5).toFixed(0)}/${quantile(xs, 0.95).toFixed(0)}`;
      const r = { cpu: (after.cpuMs - before) / 1000, mb: after.residentBytes / 1048576, polls, setup: q(lags.map((l) => l.setupMs)), first: q(lags.map((l) => l.firstMs)), delta: q(lags.flatMap((l) => l.deltaMs)), end: q(lags.map((l) => l.endMs)), health: Math.round(slowestHealthMs), fail: failures.length };
      const key = `${streams} ${bin}`;
      out.set(key, [...(out.get(key) ?? []), r]);
    }
for (const [key, rs] of out) {
  console.log(key.replace("/tmp/ab/.bundle/", "").replace("/bin.js", ""), "cpu", rs.map((r) => r.cpu.toFixed(2)).join(" "), "| med", median(rs.map((r) => r.cpu)).toFixed(2), "| polls", rs.map((r) => r.polls).join(" "), "| setup", rs.map((r) => r.setup).join(" "), "| first", rs.map((r) => r.first).join(" "), "| delta", rs.map((r) => r.delta).join(" "), "| end", rs.map((r) => r.end).join(" "), "| health", rs.map((r) => r.health).join(" "), "| MB", rs.map((r) => r.mb.toFixed(0)).join(" "), rs.some((r) => r.fail) ? `FAIL ${rs.map((r) => r.fail)}` : "");
}
for (const { world, gateway } of worlds) { await gateway.stop(); world.close(); }
