import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { parseExposition } from "./metrics.fake.ts";
import { GatewayMetrics } from "./metrics.ts";

const docs = join(import.meta.dirname, "../../../docs");
const dashboard = z
  .object({ panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })) })
  .parse(JSON.parse(readFileSync(join(docs, "grafana/millrace.json"), "utf8")));
const exprs = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

async function familiesNow() {
  const nothing = { limits: undefined, logBytes: undefined };
  return parseExposition((await new GatewayMetrics("1.0.0").write(nothing)).text).families;
}

test("the Grafana dashboard asks only for metrics that exist, in the form that they have", async () => {
  const types = new Map((await familiesNow()).map(({ name, type }) => [name, type]));
  const asked = exprs.flatMap((expr) => [...expr.matchAll(/millrace_\w+/g)].map(([name]) => name));
  expect(asked.length).toBeGreaterThan(12);
  for (const name of asked) {
    const base = name.replace(/_bucket$/, "");
    const wanted = name === base ? ["counter", "gauge"] : ["histogram"];
    expect(wanted.map((type) => `${base} ${type}`)).toContain(`${base} ${types.get(base)}`);
  }
});
