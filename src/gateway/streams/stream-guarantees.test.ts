import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { systemClock } from "../../base/clock.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { openLog } from "../../log/live.ts";
import { inMemory, memoryRows, openMemoryLog, testKey } from "../../log/memory-log.fake.ts";
import { FailingRows } from "../../log/rows.fake.ts";
import { newTurn, SettableClock } from "../../log/turn.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { signedIn } from "../routes/signed-in.fake.ts";
import { begun } from "./one-stream.fake.ts";
import { detailsOf, say } from "./raw-client.fake.ts";
import { attach, headersOf, newNames, sealedFileLog, streamWorld } from "./stream-world.fake.ts";

describe("a stream", () => {
  test("R12: leaves nothing on the disk that can be read with the gateway's own key", async () => {
    const { store, folder } = await sealedFileLog(systemClock);
    const { world, names, first } = await begun({ store }, "canary-question-5f1c");
    world.backend.last.text("canary-answer-5f1c");
    world.backend.last.finish("canary-answer-5f1c");
    expect(await first.ended).toBeUndefined();
    const clear = "canary-label-5f1c";
    await store.create(newTurn(), clear);
    const found = new Set<string>();
    for (const file of await readdir(folder)) {
      const text = (await readFile(join(folder, file))).toString("latin1");
      for (const [word] of text.matchAll(/canary-[a-z]+-5f1c/g)) found.add(word);
      for (const secret of [names.encryptionKey, names.key]) expect(text).not.toContain(secret);
    }
    expect([...found]).toEqual([clear]); // the search finds what is there
  });

  test("shows the gateway's owner what happened and when, while it runs and after its end, without any text", async () => {
    const secret = "canary-5f1c";
    const { world, first } = await begun({}, secret);
    const headers = await signedIn(world.fake, true);
    const request = (at: string) => world.fake.request(at, { headers });
    const [turn] = await world.store.list({ limit: 1 });
    const path = `/dashboard/api/turns/${turn?.turnId}`;
    const running = await request(`${path}/summary`);
    expect(await running.json()).toMatchObject({ sealed: true, status: "running", shows_text: false, prompt: null });
    const timeline = new SseReader(await request(`${path}/timeline`));
    const feed = new SseReader(await request("/dashboard/api/turns/feed"));
    expect(JSON.parse((await feed.next())?.data ?? "")).toMatchObject([{ sealed: true, status: "running" }]);
    world.backend.last.text(secret);
    await first.until(({ text }) => text === secret);
    world.backend.last.emit({
      type: "tool_call",
      callId: secret,
      name: secret,
      argumentsDelta: `{"a":"${secret}"}`,
      done: true,
    });
    world.backend.last.emit({
      type: "usage",
      promptTokens: 9,
      completionTokens: 3,
      thinkingTokens: 0,
      estimated: false,
    });
    world.backend.last.finish(secret);
    const live = await timeline.rest();
    const told = async () => (await new SseReader(await request(`${path}/timeline`)).rest()).map(({ data }) => data);
    const entries = live.map(({ data }) => JSON.parse(data) as Record<string, unknown>);
    expect(entries.map(({ type, characters, detail }) => [type, characters, detail])).toEqual([
      ["started", null, "a conversation over Cascade"],
      ["text", 11, null],
      ["tool_call", 19, null],
      ["usage", null, "9 in, 3 out"],
      ["finished", null, "stop"],
    ]);
    const types = async () => (await told()).map((data) => (JSON.parse(data) as { type: string }).type);
    await vi.waitFor(async () => expect(await types()).toEqual(["started", "text", "usage", "finished"])); // in short
    const summary = {
      sealed: true,
      status: "ended",
      ended_at: entries.at(-1)?.["at"],
      characters: 30,
      tokens: { prompt: 9, completion: 3, estimated: false },
      outcome: "finished",
      reason: "stop",
      shows_text: false,
      prompt: null,
    };
    expect(await (await request(`${path}/summary`)).json()).toMatchObject(summary);
    const later = new SseReader(await request("/dashboard/api/turns/feed"));
    const { shows_text: _shown, prompt: _prompt, ...listed } = summary;
    expect(JSON.parse((await later.next())?.data ?? "")).toMatchObject([listed]);
    const events = await world.fake.request(`/v1/turns/${turn?.turnId}/events`);
    expect(events.status).toBe(403);
    expect(await events.json()).toMatchObject({ error: { hint: expect.stringContaining(`GET ${path}/timeline`) } });
    await Promise.all([feed.cancel(), later.cancel()]);
    for (const text of [...(await told()), feed.bytes, later.bytes]) expect(text).not.toContain(secret);
  });

  test("says at each attach until when its answer is kept: for its time after its end, read or not", async () => {
    const hourMs = 3_600_000;
    const clock = new SettableClock(1_750_000_000_000);
    const retention = { keptMs: hourMs, tombstoneMs: 24 * hourMs };
    const store = openMemoryLog({ clock, retention });
    const { world, names, first } = await begun({ clock, store });
    world.backend.last.finish("");
    await first.ended;
    const kept: number[] = [];
    for (let i = 0; i < 3; i++) {
      clock.move(0.25 * hourMs);
      const later = await attach(world, "bidi", names).until(({ welcome }) => welcome !== undefined);
      const { expiresAtUnixMs = 0n, serverNowUnixMs = 0n } = later.welcome?.facts ?? {};
      kept.push(Number(expiresAtUnixMs - serverNowUnixMs) / hourMs);
      await later.cut();
    }
    expect(kept).toEqual([0.75, 0.5, 0.25]);
  });

  test("R13: is kept for two hours, then is `expired` and never started again", async () => {
    const clock = new SettableClock(1_750_000_000_000);
    const { world, names, first } = await begun({ clock });
    world.backend.last.finish("");
    await first.ended;
    clock.move(7_199_000);
    await attach(world, "bidi", names).endInput().ended;
    clock.move(7_200_001);
    for (const intent of ["create", "resume"]) {
      const late = world.client
        .attach("bidi", headersOf(names, "0", { "x-millrace-intent": intent }))
        .send(say.request("Hello"));
      expect(detailsOf(await late.ended).info).toMatchObject({ reason: "expired" });
    }
    expect(world.backend.answers).toHaveLength(1);
  });

  test("R16: reports in its welcome that it is degraded, delivers its answer, and never starts a stored stream a second time", async () => {
    const failing = new FailingRows(await memoryRows());
    const open = async () => ({ rows: failing.rows, gatewayKey: testKey });
    const store = await openLog({ open, abilities: inMemory, clock: systemClock });
    const { world, names, first } = await begun({ store });
    expect(first.welcome?.isDegradedMode).toBe(false);
    await first.cut();
    failing.fault = "gone";
    for (const intent of ["create", "resume"]) {
      const refused = await world.client.attach("bidi", headersOf(names, "0", { "x-millrace-intent": intent })).ended;
      expect(detailsOf(refused).number).toBeUndefined(); // it passes
    }
    const other = attach(world, "bidi", newNames()).send(say.request("Meanwhile"));
    await other.until(({ acks }) => acks.includes(0));
    expect(other.welcome?.isDegradedMode).toBe(true);
    await expect.poll(() => world.backend.answers.length).toBe(2);
    world.backend.last.finish("flows");
    expect(await other.ended).toBeUndefined();
    expect(other.text).toBe("flows");
    failing.fault = "none";
    await expect.poll(() => store.degradedBy).toBeUndefined();
    const back = await attach(world, "bidi", names).until(({ chunks }) => chunks.length > 0);
    expect(back.welcome).toMatchObject({ isDegradedMode: false, facts: { highestSeqno: 0 } });
    expect(world.backend.answers).toHaveLength(2);
  });

  test("R19: has a quota for each caller, and says when to retry", async () => {
    const world = await streamWorld({ openStreams: 1 });
    const first = await attach(world, "bidi", newNames()).until(({ welcome }) => welcome !== undefined);
    const second = await attach(world, "bidi", newNames()).ended;
    expect(detailsOf(second)).toMatchObject({ number: 41, info: { reason: "too_many_streams" } });
    expect(Number(second?.metadata.get("retry-after"))).toBeGreaterThan(0);
    const guest = { authorization: "Bearer mr-guest-key-0123456789abcdef" };
    await world.client.attach("bidi", headersOf(newNames(), "0", guest)).until(({ welcome }) => welcome !== undefined);
    await first.cut();
    const isWelcome = () =>
      attach(world, "bidi", newNames())
        .until(({ welcome }) => welcome !== undefined)
        .then(
          () => true,
          () => false,
        );
    await expect.poll(isWelcome).toBe(true); // the gateway learns a little later that the first one has left
  });

  test("gives a sign of life in silence while the model's server answers, and none when it does not", async () => {
    const clock = new FakeClock();
    const world = await streamWorld({ clock });
    const first = attach(world, "bidi", newNames()).send(say.request("Hello", 0, { tools: ["look"] }));
    await first.until(({ chunks }) => chunks.length > 0);
    for (let acks = 2; acks <= 3; acks++) {
      await clock.advance(9_500);
      world.backend.last.options.onAlive();
      await clock.advance(500);
      await first.until((seen) => seen.acks.length === acks);
    }
    await clock.advance(60_000); // nothing was heard from upstream all the while
    const call: TurnEventBody = { type: "tool_call", callId: "c1", name: "look", argumentsDelta: "{}", done: true };
    world.backend.last.emit(call, { type: "finished", reason: { unified: "tool_calls", raw: undefined }, text: "" });
    world.backend.last.end();
    await first.until(({ chunks }) => chunks.at(-1)?.response.case === "streamUnifiedChatResponse");
    expect(first.acks).toEqual([0, 0, 0]);
    await clock.advance(10_000);
    await first.until(({ acks }) => acks.length === 4); // now the stream waits for its client
    expect(first.chunks.map(({ eventId }) => eventId)).toEqual([
      ...new Set(first.chunks.map(({ eventId }) => eventId)),
    ]);
  });
});
