import type { Clock } from "../../base/clock.ts";
import { clearCodec, type LogCodec } from "../medium/codec.ts";
import { openLog } from "../medium/open-log.ts";
import { defaultRetention, type Retention } from "../retention.ts";
import type { LogStore } from "../store.ts";
import { MemoryMedium } from "./memory-medium.ts";

/** A log that ends with this process. */
export function openMemoryLog({
  clock,
  codec = clearCodec,
  retention = defaultRetention,
}: {
  readonly clock: Clock;
  readonly codec?: LogCodec;
  readonly retention?: Retention;
}): LogStore {
  return openLog({ medium: new MemoryMedium(), codec, clock, retention });
}
