import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../src/base/clock.ts";
import { openMemoryLog } from "../../src/log/live.ts";
import { openFileLog, openSharedLog } from "../../src/log/memory-log.fake.ts";
import { openSqliteRows } from "../../src/log/sqlite.ts";
import type { LogStore } from "../../src/log/store.ts";
import { newTurn } from "../../src/log/turn.fake.ts";
import { startRedis } from "./redis.ts";

/** So many turns write so many events each, so many with each append. */
export interface Shape {
  readonly turns: number;
  readonly events: number;
  readonly eventsAnAppend: number;
}

/** One way to store events. */
export interface Appending {
  /** One round, of new turns. */
  run(shape: Shape): Promise<{ readonly perSecond: number; readonly cpuMicroseconds: number }>;
  close(): Promise<void>;
}

const delta = "A sentence of ordinary length.";

/** The bare loop first, then each store. Redis is left out where its server is not installed. */
export async function appendings(folder: string): Promise<readonly (readonly [string, Appending])[]> {
  const clock = systemClock;
  const file = (name: string) => join(folder, `${name}-${process.hrtime.bigint()}.db`);
  // A new one each time: what it holds of the rounds before would make every collection longer, also while the others are measured.
  const inMemory: Appending = {
    run: async (shape) => over(await openMemoryLog({ clock })).run(shape),
    close: async () => {},
  };
  const ways: [string, Appending][] = [
    ["bare inserts", await bare(file("bare"))],
    ["memory", inMemory],
    ["SQLite", over(await openFileLog({ path: file("log"), clock }))],
  ];
  const redis = await startRedis();
  if (redis === undefined) return ways;
  const store = over(await openSharedLog({ url: redis.url, clock }));
  const close = async () => {
    await store.close();
    await redis.stop();
  };
  return [...ways, ["Redis", { ...store, close }]];
}

/** Each turn appends its events one append after the other, so the group commit gets one append of each turn at a time. */
function over(store: LogStore): Appending {
  return {
    async run({ turns, events, eventsAnAppend }) {
      const batch = Array.from({ length: eventsAnAppend }, () => ({ type: "text" as const, delta }));
      const create = () => store.create(newTurn({ createdAtMs: systemClock.now() }), "bench");
      const made = await Promise.all(Array.from({ length: turns }, create));
      return measured(turns * events, async () => {
        const write = async ({ writer }: (typeof made)[number]) => {
          for (let at = 0; at < events; at += eventsAnAppend) await writer?.append(batch, systemClock.now());
        };
        await Promise.all(made.map(write));
      });
    },
    close: () => store.close(),
  };
}

/** The same rows into the same table, in transactions as large as a group commit's, and nothing else. */
async function bare(path: string): Promise<Appending> {
  await (await openSqliteRows({ path })).close(); // makes the tables
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON");
  const insert = database.prepare("INSERT INTO entries (n, seq, bytes) VALUES (?, ?, ?)");
  const bytes = new Uint8Array(120);
  let before = 0;
  return {
    run({ turns, events, eventsAnAppend }) {
      const numbers = Array.from({ length: turns }, () => ++before);
      return measured(turns * events, async () => {
        for (let at = 0; at < events; at += eventsAnAppend) {
          database.exec("BEGIN IMMEDIATE");
          for (const number of numbers) for (let i = 0; i < eventsAnAppend; i++) insert.run(number, at + i, bytes);
          database.exec("COMMIT");
        }
      });
    },
    close: async () => database.close(),
  };
}

async function measured(events: number, work: () => Promise<void>) {
  const [before, startedAt] = [process.cpuUsage(), performance.now()];
  await work();
  const tookMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before);
  return { perSecond: (events / tookMs) * 1_000, cpuMicroseconds: (user + system) / events };
}
