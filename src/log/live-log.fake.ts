import { FakeClock } from "../base/clock.fake.ts";
import { Emitter } from "../base/emitter.ts";
import type { TurnEventBody } from "./event.ts";
import type { StoreLifecycle } from "./lifecycle.ts";
import { openLog } from "./live.ts";
import { FailingRows } from "./rows.fake.ts";
import type { RowsAbilities } from "./rows.ts";
import { encodeKey } from "./sealing/keys.ts";
import { openSqliteRows } from "./sqlite.ts";
import { newTurn } from "./turn.fake.ts";

export const now = new FakeClock().now();
export const never = new AbortController().signal;
export const text = (delta: string): TurnEventBody => ({ type: "text", delta });
export const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "" };
export const gatewayKey = encodeKey(new Uint8Array(32).fill(1));

/** A log over a store in memory that fails when a test says so, and another process that has the same store. */
export async function begin(abilities: Partial<RowsAbilities> = {}) {
  const clock = new FakeClock();
  const rows = await openSqliteRows({ path: ":memory:" });
  const failing = new FailingRows(rows);
  const said: (string | undefined)[] = [];
  const events = new Emitter<StoreLifecycle>();
  events.on("store_failed", ({ error }) => said.push(error.code));
  events.on("store_recovered", () => said.push(undefined));
  const all = { ...rows.abilities, ...abilities };
  const open = async () => ({ rows: failing.rows, gatewayKey });
  const log = await openLog({ open, abilities: all, clock, events });
  const other = await openLog({ open: async () => ({ rows, gatewayKey }), abilities: all, clock });
  return { clock, failing, other, said, log };
}

/** A new turn of that log. */
export async function created(log: Awaited<ReturnType<typeof begin>>["log"], overrides = {}) {
  const { record, writer } = await log.create(newTurn(overrides), "owner-1");
  if (writer === undefined) throw new Error("the turn was there already");
  return { record, writer, turnId: record.turnId };
}
