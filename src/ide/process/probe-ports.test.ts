import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { Secret } from "../../base/secret.ts";
import { Trace } from "../discover/trace.ts";
import type { FoundToken } from "./csrf-token.ts";
import type { ProbeVerdict } from "./probe-port.ts";
import { probePorts } from "./probe-ports.ts";

const { signal } = new AbortController();
const tokens: readonly FoundToken[] = [
  { token: new Secret("one"), source: "environment" },
  { token: new Secret("two"), source: "argument" },
];
const answer: ProbeVerdict = { ok: true, tls: false, protocol: "grpc" };
const silent: ProbeVerdict = { ok: false, reason: "timeout", why: "" };
const no = (reason: string): ProbeVerdict => ({ ok: false, reason, why: reason });

/** Each port's verdict by how long it is waited for and by its token. Answers the port, and what was asked: port, ms, token. */
async function probed(
  verdicts: Readonly<Record<number, (ms: number, token: string) => ProbeVerdict>>,
  more: { readonly known?: { readonly port: number; readonly tookMs: number }; readonly isLast?: boolean } = {},
) {
  const asked: (readonly [port: number, ms: number, token: string])[] = [];
  const ports = Object.keys(verdicts).map((port) => ({ host: "127.0.0.1", port: Number(port) }));
  const found = await probePorts(
    async ({ port, attemptMs = 0, csrfToken }) => {
      asked.push([port, attemptMs, csrfToken.reveal()]);
      return verdicts[port]?.(attemptMs, csrfToken.reveal()) ?? silent;
    },
    { variant: "windsurf", ports, tokens, clock: new FakeClock(), known: undefined, ...more },
    new Trace(),
    signal,
  );
  return { port: found?.port, token: found?.token.reveal(), asked };
}

test("ports are asked one after the other until one answers, each with a second", async () => {
  expect(await probed({ 1: () => no("refused"), 2: () => answer, 3: () => answer })).toEqual({
    port: 2,
    token: "one",
    asked: [
      [1, 1_000, "one"],
      [2, 1_000, "one"],
    ],
  });
});

test("another token is tried only where the first was refused", async () => {
  const { token, asked } = await probed({ 1: (_, token) => (token === "two" ? answer : no("token_refused")) });
  expect([token, asked.length]).toEqual(["two", 2]);
  expect((await probed({ 1: () => no("not_http") })).asked).toHaveLength(1);
});

test("where a port is silent the others are asked at once, and the silent ones again with more patience", async () => {
  const patient = (least: number) => (ms: number) => (ms >= least ? answer : silent);
  expect((await probed({ 1: patient(5_000), 2: () => no("refused"), 3: () => silent })).port).toBe(1);
  expect((await probed({ 1: patient(5_000), 2: () => answer })).port).toBe(2);
  expect((await probed({ 1: patient(5_001) })).port).toBeUndefined();
  expect((await probed({ 1: patient(10_000) }, { isLast: true })).port).toBe(1);
  expect((await probed({ 1: patient(10_001) }, { isLast: true })).port).toBeUndefined();
});

test.each([
  [100, 5_000],
  [2_000, 6_000],
  [9_000, 10_000],
])("a port that took %s ms last time is waited for %s ms at once", async (tookMs, ms) => {
  const { asked } = await probed({ 1: () => answer }, { known: { port: 1, tookMs } });
  expect(asked).toEqual([[1, ms, "one"]]);
});

test("a port that replies with an error is taken only where no other answers", async () => {
  const unsure = (): ProbeVerdict => ({ ...answer, unsure: true });
  expect((await probed({ 1: unsure, 2: () => answer })).port).toBe(2);
  const { port, asked } = await probed({ 1: unsure, 2: () => silent });
  expect([port, asked.length]).toEqual([1, 2]); // a silent one is not asked again
});
