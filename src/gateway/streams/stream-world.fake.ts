import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Clock } from "../../base/clock.ts";
import { systemClock } from "../../base/clock.ts";
import { Emitter } from "../../base/emitter.ts";
import { openFileLog, openMemoryLog } from "../../log/memory-log.fake.ts";
import type { LogStore } from "../../log/store.ts";
import { FakeBackend } from "../../turns/backend.fake.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import { openTurns } from "../../turns/open-turns.ts";
import type { TurnsOptions } from "../../turns/options.ts";
import { plainLayout } from "../../turns/turns.fake.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import type { GatewayOptions } from "../open-gateway.ts";
import { openStreams } from "./open-streams.ts";
import { rawClient, type TierName } from "./raw-client.fake.ts";

export interface StreamWorldOptions {
  readonly clock?: Clock;
  readonly store?: LogStore;
  readonly backend?: FakeBackend;
  readonly turns?: Partial<TurnsOptions>;
  readonly gateway?: Partial<GatewayOptions>;
  /** Streams that one caller may have open. */
  readonly openStreams?: number;
}

/** A sealed log in a new file, which is removed after the test. */
export async function sealedFileLog(clock: Clock): Promise<{ readonly store: LogStore; readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-streams-"));
  const store = await openFileLog({ path: join(folder, "log.sqlite"), clock });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { store, folder };
}

let worlds = 0;

/** A real gateway on loopback over real turns, whose model a test plays. Closed after the test. */
export async function streamWorld(options: StreamWorldOptions = {}) {
  const { clock = systemClock, backend = new FakeBackend() } = options;
  const store = options.store ?? openMemoryLog({ clock });
  worlds++;
  const events = new Emitter<TurnLifecycle & UsageLifecycle>();
  const turns = openTurns({
    events,
    store,
    backends: backend,
    clock,
    graceMs: 120_000,
    implicitJoins: true,
    owner: `owner-${worlds}`,
    layout: plainLayout,
    countTokens: (text) => Math.ceil(text.length / 4),
    ...options.turns,
  });
  const fake = fakeGateway({ clock, turns, events, rpc: openStreams(turns, options), ...options.gateway });
  const listening = await fake.gateway.listen({ host: "127.0.0.1", port: 0 });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await listening.close();
    await turns.stop();
  };
  onTestFinished(close);
  const client = rawClient({ url: listening.url, key: fakeKey });
  return { clock, backend, store, turns, events, fake, listening, client, close };
}

export type StreamWorld = Awaited<ReturnType<typeof streamWorld>>;

/** A stream's own headers, as a client keeps them. */
export interface StreamNames {
  readonly key: string;
  readonly encryptionKey: string;
}

export function newNames(): StreamNames {
  return {
    key: crypto.randomUUID(),
    encryptionKey: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url"),
  };
}

/** The headers of one attach. */
export function headersOf(
  { key, encryptionKey }: StreamNames,
  cursor = "0",
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return {
    "x-idempotency-key": key,
    "x-idempotency-event-id": cursor,
    "x-idempotent-encryption-key": encryptionKey,
    ...more,
  };
}

/** One attach of a stream. */
export function attach({ client }: Pick<StreamWorld, "client">, tier: TierName, names: StreamNames, cursor = "0") {
  return client.attach(tier, headersOf(names, cursor));
}
