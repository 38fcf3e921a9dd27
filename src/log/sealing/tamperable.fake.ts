import { FakeClock } from "../../base/clock.fake.ts";
import type { TurnId } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import type { TurnEventBody } from "../event.ts";
import type { EventRow, LogMedium } from "../medium/medium.ts";
import { openLog } from "../medium/open-log.ts";
import { MemoryMedium } from "../memory/memory-medium.ts";
import { defaultRetention } from "../retention.ts";
import { newTurn } from "../turn.fake.ts";
import { encodeKey } from "./keys.ts";
import { sealedCodec } from "./sealed-codec.ts";

export const gatewayKey = encodeKey(Uint8Array.from({ length: 32 }, (_, i) => i));
export const clientKey = encodeKey(Uint8Array.from({ length: 32 }, (_, i) => 255 - i));
export const otherKey = encodeKey(new Uint8Array(32));
export const text = (delta: string): TurnEventBody => ({ type: "text", delta });
export const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "ab" };

/** A sealed log in memory whose rows a test can change on their way out. */
export function tamperable(key: Secret = gatewayKey) {
  const clock = new FakeClock();
  const inner = new MemoryMedium();
  let tamper: (events: readonly EventRow[]) => readonly EventRow[] = (events) => events;
  const medium: LogMedium = new Proxy(inner, {
    get(target, name) {
      if (name !== "read") {
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      }
      return async (...values: Parameters<LogMedium["read"]>) => {
        const found = await target.read(...values);
        return found === undefined ? undefined : { ...found, events: tamper(found.events) };
      };
    },
  });
  const store = openLog({ medium, codec: sealedCodec(key), clock, retention: defaultRetention });
  return { clock, store, medium, inner, tamperWith: (change: typeof tamper) => (tamper = change) };
}

export async function smallLog(store: ReturnType<typeof tamperable>["store"], nowMs: number): Promise<TurnId> {
  const { record, writer } = await store.create(newTurn(), "o");
  await writer?.append([text("a"), text("b")], nowMs);
  await writer?.append([finished], nowMs);
  return record.turnId;
}
