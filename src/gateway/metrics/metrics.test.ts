import { describe, expect, it } from "vitest";
import { Emitter } from "../../base/emitter.ts";
import { until } from "../../base/wait.fake.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import { turnFake } from "../../usage/history/history.fake.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import type { LimitWindow } from "../../usage/limits.ts";
import { snapshotOf } from "../../usage/snapshot.fake.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { parseExposition, sampleOf } from "./metrics.fake.ts";
import { GatewayMetrics, type Gauges, type IdeCounts } from "./metrics.ts";

const nothing: Gauges = { limits: undefined, logBytes: undefined };
const hour = 3_600_000;

async function written(metrics: GatewayMetrics, measured: Partial<Gauges> = {}) {
  return parseExposition((await metrics.write({ ...nothing, ...measured })).text);
}

function limitsWith(...windows: readonly LimitWindow[]): NonNullable<Gauges["limits"]> {
  const snapshot = snapshotOf({ readAtMs: 1000, usedFraction: 0.25, resetsAtMs: hour });
  const reading = { snapshot: { ...snapshot, windows: [...snapshot.windows, ...windows] }, paces: [], stale: true };
  return { nowMs: 2000, readings: [{ ...reading, expiresAtMs: 301_000 }], errors: [] };
}

describe("the metrics", () => {
  it("are named and typed as Prometheus wants it, each with help, and no series twice", async () => {
    const { families } = await written(new GatewayMetrics("1.2.3"), { limits: limitsWith(), logBytes: 4096 });
    expect(families.length).toBeGreaterThan(15);
    const faults = families.flatMap(({ name, type, help, samples }) => [
      ...(/^millrace_[a-z0-9_]+$/.test(name) ? [] : [`${name}: its form`]),
      ...(/\S.*\.$/.test(help) ? [] : [`${name}: no help`]),
      ...(name.endsWith("_total") === (type === "counter") ? [] : [`${name}: counters end in _total, and only they`]),
      ...(/_(ms|millis|milliseconds|minutes|kb|kilobytes|percent)(_|$)/.test(name) ? [`${name}: not a base unit`] : []),
      ...(type === "histogram" && !name.endsWith("_seconds") ? [`${name}: of what?`] : []),
      ...(new Set(samples.map(({ series }) => series)).size === samples.length ? [] : [`${name}: a series twice`]),
    ]);
    expect(faults).toEqual([]);
  });

  it("count an ended turn once, with its times and tokens by where they come from", async () => {
    const metrics = new GatewayMetrics("1.2.3");
    const events = new Emitter<Pick<TurnLifecycle, "turn_polled"> & Pick<UsageLifecycle, "turn_ended"> & IdeCounts>();
    metrics.subscribe(events);
    events.emit("turn_ended", turnFake({ turnId: "a", endedAtMs: 4000, startedAtMs: 1000, firstTokenMs: 6500 }));
    events.emit(
      "turn_ended",
      turnFake({ turnId: "b", endedAtMs: 4000, tokenSource: "estimated", firstTokenMs: undefined }),
    );
    events.emit(
      "turn_ended",
      turnFake({ turnId: "c", endedAtMs: 4000, tokenSource: "unknown", outcome: "failed", reason: "upstream_failed" }),
    );
    events.emit("ide_found", { variant: "windsurf" });
    events.emit("ide_found", { variant: "windsurf-next" });
    events.emit("ide_lost", { variant: "windsurf-next" });
    const all = await written(metrics);
    expect(
      sampleOf(all, 'millrace_turns_ended_total{dialect="openai-chat",model="claude-opus-4-5",outcome="finished"}'),
    ).toBe(2);
    expect(
      sampleOf(all, 'millrace_turns_ended_total{dialect="openai-chat",model="claude-opus-4-5",outcome="failed"}'),
    ).toBe(1);
    expect(
      sampleOf(all, 'millrace_turn_errors_total{dialect="openai-chat",model="claude-opus-4-5",code="upstream_failed"}'),
    ).toBe(1);
    expect(sampleOf(all, 'millrace_ides{ide="devin"}')).toBe(1);
    expect(sampleOf(all, 'millrace_ides{ide="devin-next"}')).toBe(0);
    expect(sampleOf(all, 'millrace_tokens_total{kind="prompt",source="measured"}')).toBe(100);
    expect(sampleOf(all, 'millrace_tokens_total{kind="completion",source="estimated"}')).toBe(20);
    // A first token that took longer than a stream waits to open counts as well.
    expect(
      sampleOf(all, 'millrace_first_token_seconds_sum{dialect="openai-chat",model="claude-opus-4-5"}'),
    ).toBeCloseTo(6.8);
    expect(sampleOf(all, 'millrace_turn_seconds_count{dialect="openai-chat",model="claude-opus-4-5"}')).toBe(3);
  });

  it("show how many turns run and wait, and whether prompts are paused", async () => {
    const metrics = new GatewayMetrics("1.2.3");
    const all = await written(metrics, { load: { running: 4, waiting: 2 }, paused: true });
    expect(sampleOf(all, "millrace_turns_running")).toBe(4);
    expect(sampleOf(all, "millrace_turns_waiting")).toBe(2);
    expect(sampleOf(all, "millrace_paused")).toBe(1);
    expect(sampleOf(await written(metrics), "millrace_paused")).toBe(0);
  });

  it("show what is left of each limit, +Inf for an unlimited one, and no series for an unknown one", async () => {
    const [known] = snapshotOf({ readAtMs: 0, usedFraction: 0.5, resetsAtMs: undefined }).windows;
    if (known === undefined) throw new Error("the fake has a window");
    const none = { used: undefined, limit: undefined, remaining: undefined, utilization: undefined };
    const metrics = new GatewayMetrics("1.2.3");
    const limits = limitsWith(
      { ...known, id: "free", state: "unlimited", unit: "credits", ...none },
      { ...known, id: "dark", state: "unknown", ...none },
      { ...known, id: "over", resetsAtMs: 1500 },
      { ...known, id: "overage", kind: "balance", unit: "usd", ...none, remaining: -1.2 },
    );
    const all = await written(metrics, { limits });
    expect(sampleOf(all, 'millrace_limit_left{ide="devin",window="weekly",unit="percent"}')).toBe(75);
    expect(sampleOf(all, 'millrace_limit_left_ratio{ide="devin",window="weekly"}')).toBe(0.75);
    expect(sampleOf(all, 'millrace_limit_left{ide="devin",window="free",unit="credits"}')).toBe(Infinity);
    expect(sampleOf(all, 'millrace_limit_left{ide="devin",window="overage",unit="usd"}')).toBe(-1.2);
    expect(sampleOf(all, 'millrace_limit_reset_timestamp_seconds{ide="devin",window="weekly"}')).toBe(3600);
    expect(sampleOf(all, 'millrace_limits_stale{ide="devin"}')).toBe(1);
    expect(all.text).not.toMatch(/window="dark"/);
    expect(all.text).not.toMatch(/left\{[^}]*window="over"/);
    // An IDE that is gone leaves no series behind, nor does a log without a file.
    const later = await written(metrics);
    expect(later.text).not.toMatch(/millrace_limit\w*\{|millrace_log_bytes \d/);
  });

  it("show the log's size, and whether it can be written now", async () => {
    const metrics = new GatewayMetrics("1.2.3");
    const all = await written(metrics, { logBytes: 4096, degraded: true });
    expect([sampleOf(all, "millrace_log_bytes"), sampleOf(all, "millrace_degraded")]).toEqual([4096, 1]);
    expect(sampleOf(await written(metrics, { degraded: false }), "millrace_degraded")).toBe(0);
  });

  it("show how late deltas reach a connected reader, without replayed ones", async () => {
    const { request, turns, clock } = fakeGateway();
    const body = { model: "test-model", stream: true, messages: [{ role: "user", content: "x" }] };
    const asked = request("/v1/chat/completions?detach=1", { json: body });
    await until(() => turns.started.length !== 0);
    const id = turns.turnId(0);
    turns.emit(id, { type: "text", delta: "old" });
    const reader = new SseReader(await asked);
    await reader.next();
    await reader.next();
    await clock.advance(1000);
    const late = new SseReader(await request(`/v1/turns/${id}/events`));
    await late.next();
    await late.cancel();
    await reader.cancel();
    const all = parseExposition(await (await request("/metrics")).text());
    expect(sampleOf(all, "millrace_delta_lag_seconds_count")).toBe(1);
    expect(sampleOf(all, "millrace_delta_lag_seconds_sum")).toBe(0);
  });
});
