import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import type { ModelUid, TurnId } from "../../base/ids.ts";
import { newTurn } from "../../log/turn.fake.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import { ScriptedTurns } from "../scripted-turns.fake.ts";
import { turnFeed } from "./turn-feed.ts";
import type { TurnSummary } from "./turn-summary.ts";

test("a page that stays open knows the newest turns and those that run, and no more", async () => {
  const clock = new FakeClock();
  const events = new Emitter<Pick<TurnLifecycle, "turn_started">>();
  const turns = new ScriptedTurns(clock, events);
  const closing = new AbortController();
  onTestFinished(() => closing.abort());
  const options = {
    names: { modelNameOf: (uid: string) => uid },
    state: () => "",
    showsText: () => false,
    mostKnown: 3,
  };
  const feed = turnFeed({ turns, events, clock, ...options }, closing.signal);
  expect((await feed.next()).value).toMatchObject({ name: "turns", data: "[]" });
  const told: TurnId[] = [];
  void (async () => {
    for await (const { name, data } of feed)
      if (name === "turn") told.push((JSON.parse(data) as TurnSummary).id as TurnId);
  })();
  const start = async (ends: boolean) => {
    turns.script = () => (ends ? [{ type: "finished", reason: { unified: "stop", raw: "" }, text: "" }] : []);
    const { record } = await turns.start({ ...newTurn(), modelUid: "m" as ModelUid }, closing.signal);
    await clock.advance(600);
    return record.turnId;
  };
  const running = await start(false);
  const ended: TurnId[] = [];
  for (let n = 0; n < 4; n++) ended.push(await start(true));
  expect(told).toEqual([running, ...ended]);
  told.length = 0;
  const tellAgain = async (...ids: readonly TurnId[]) => {
    for (const turnId of ids) events.emit("turn_started", { turnId });
    await clock.advance(600);
  };
  await tellAgain(running, ...ended.slice(2)); // known
  expect(told).toEqual([]);
  await tellAgain(...ended.slice(0, 1)); // forgotten
  expect(told).toEqual(ended.slice(0, 1));
});
