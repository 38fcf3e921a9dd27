import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import type { TurnEventBody } from "../event.ts";
import type { StoreLifecycle } from "../lifecycle.ts";
import { clearCodec } from "../medium/codec.ts";
import { FailingMedium } from "../medium/failing-medium.fake.ts";
import { openLog } from "../medium/open-log.ts";
import { MemoryMedium } from "../memory/memory-medium.ts";
import { defaultRetention } from "../retention.ts";
import type { StoreCapabilities } from "../store.ts";
import { newTurn } from "../turn.fake.ts";
import { openLiveLog } from "./open-live-log.ts";

export const alone = { survivesRestart: false, sharedBetweenProcesses: false };
export const now = new FakeClock().now();
export const never = new AbortController().signal;
export const text = (delta: string): TurnEventBody => ({ type: "text", delta });
export const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "" };

/** A log over a store in memory that fails when a test says so. */
export async function begin(capabilities: Partial<StoreCapabilities> = {}) {
  const clock = new FakeClock();
  const failing = new FailingMedium(new MemoryMedium());
  const primary = openLog({ medium: failing.medium, codec: clearCodec, clock, retention: defaultRetention });
  const said: (string | undefined)[] = [];
  const events = new Emitter<StoreLifecycle>();
  events.on("store_failed", ({ error }) => said.push(error.code));
  events.on("store_recovered", () => said.push(undefined));
  const log = await openLiveLog({
    open: async () => primary,
    capabilities: { ...primary.capabilities, ...capabilities },
    clock,
    events,
  });
  return { clock, failing, primary, said, log };
}

/** A new turn of that log. */
export async function created(log: Awaited<ReturnType<typeof begin>>["log"], overrides = {}) {
  const { record, writer } = await log.create(newTurn(overrides), "owner-1");
  if (writer === undefined) throw new Error("the turn was there already");
  return { record, writer, turnId: record.turnId };
}
