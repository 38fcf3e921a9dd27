import { createHash } from "node:crypto";
import { createClient, ErrorReply, RESP_TYPES } from "redis";
import { bestEffort } from "../../base/async.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { Waiters } from "../../base/notifier.ts";
import {
  type Entry,
  type Guard,
  type Op,
  type Outcome,
  type PageLimit,
  parsedOr,
  type Row,
  type RowFilter,
  type RowKind,
  type Rows,
  type RowsAbilities,
  type SharedRows,
} from "../rows.ts";
import { rowScripts } from "./row-scripts.ts";

type Client = ReturnType<typeof createClient>;
type Word = string | number | Uint8Array;
type Flat = readonly Buffer[];

const asBuffers = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } } as const;

/** How long a home counts as there after it was renewed; ms. */
const homeMs = 120_000;

/** How many rows one look at an index reads, if some of them may not match; and how many one sweep removes. */
const page = 256;
const sweptAtOnce = 64;

/** Redis names scripts by SHA-1. */
const digests = Object.fromEntries(
  Object.entries(rowScripts).map(([name, script]) => [name, createHash("sha1").update(script).digest("hex")]),
);

/**
 * Rows in Redis, changed by scripts. The connection is restored automatically; while it is lost, every call throws `degraded` at
 * once. The server's settings decide how durable commits are: `appendonly yes` and `appendfsync always` equal SQLite.
 */
export class RedisRows implements Rows, SharedRows {
  readonly abilities: RowsAbilities = {
    survivesRestart: true,
    isShared: true,
  };
  readonly #prefix: string;
  readonly #client: Client;
  readonly #listener: Client;
  readonly #waiters = new Waiters<string>();
  /** The server's time less the monotonic time here; ms. */
  #aheadMs = 0;
  readonly shared: SharedRows = this;

  /** @throws MillraceError `degraded` when the server cannot be reached. */
  static async open({
    url,
    prefix = "millrace:",
  }: {
    /** `redis://`, `rediss://`, or `unix:` and the path of a socket. May hold a password: never logged. */
    readonly url: string;
    /** The prefix of every key, `millrace:` by default; gateways that share turns have the same one. */
    readonly prefix?: string;
  }): Promise<RedisRows> {
    const rows = new RedisRows(createClient(redisClientOptions(url)), prefix);
    await rows.#connect();
    return rows;
  }

  private constructor(client: Client, prefix: string) {
    this.#prefix = prefix;
    this.#client = client;
    this.#listener = client.duplicate();
    // Each command that an error affects rejects on its own.
    for (const each of [this.#client, this.#listener]) each.on("error", () => undefined);
  }

  async commit(ops: readonly Op[], _flush: boolean): Promise<Outcome> {
    type Answer = [number?, Flat?, Buffer?];
    const [at, flat = [], id] = await this.#run<Answer>("commit", ops.length, ...ops.flatMap(packed));
    return at === undefined ? { type: "done" } : { type: "refused", at, by: rowOf(String(id), flat) };
  }

  async get(id: string, withHead = false): Promise<Row | undefined> {
    const [flat, head] = await this.#run<[Flat, Buffer | null]>("get", id, Number(withHead));
    const row = rowOf(id, flat);
    return row !== undefined && withHead && head !== null ? { ...row, head: Uint8Array.from(head) } : row;
  }

  async find({ kind, tag, open, expiredAtMs, limit }: RowFilter): Promise<readonly Row[]> {
    const state = open === undefined ? "" : Number(open);
    const all = expiredAtMs !== undefined ? "expiry" : open === true ? "open" : "kind";
    const index = tag === undefined ? `${all}:${kind}` : `tag:${tag}`;
    const found = new Map<string, Row>(); // a row may come twice, if a newer one is inserted between two looks
    for (let skip = 0; found.size < limit; skip += page) {
      const words = [index, kind, state, limit - found.size, skip, page, expiredAtMs ?? ""];
      const [rows, looked] = await this.#run<[(Buffer | Flat)[], number]>("find", ...words);
      for (let i = 0; i + 1 < rows.length; i += 2) {
        const row = rowOf(String(rows[i]), rows[i + 1] as Flat); // the script answers both in turn
        if (row !== undefined) found.set(row.id, row);
      }
      if (looked < page) break;
    }
    return [...found.values()];
  }

  async entries(id: string, after: number, { count, bytes }: PageLimit): Promise<readonly Entry[]> {
    const found = await this.#run<Flat>("entries", id, after, count, bytes);
    return found.map((entry, i) => ({ seq: after + i + 1, bytes: Uint8Array.from(entry) }));
  }

  changed(id: string, signal: AbortSignal): Promise<void> {
    return this.#waiters.wait(id, signal);
  }

  async sweep(nowMs: number, kinds: readonly RowKind[]): Promise<number> {
    return this.#run<number>("sweep", nowMs, sweptAtOnce, kinds.length, ...kinds);
  }

  now(): number {
    return Math.round(performance.now() + this.#aheadMs);
  }

  async renewHome(home: string): Promise<boolean> {
    const [wasThere] = await this.#timed("home", home, homeMs);
    return wasThere === 1;
  }

  async isHomeThere(home: string): Promise<boolean> {
    const [isThere] = await this.#timed("home", home, "");
    return isThere === 1;
  }

  async agreesOnKey(checkValue: string): Promise<boolean> {
    return String(await this.#run<Buffer>("key", checkValue)) === checkValue;
  }

  async close(): Promise<void> {
    for (const each of [this.#listener, this.#client]) if (each.isOpen) each.destroy();
    this.#waiters.wakeAll();
  }

  async #connect(): Promise<void> {
    try {
      await connectOnce(this.#client);
      await connectOnce(this.#listener);
      await this.#listener.subscribe(`${this.#prefix}wake`, (id) => this.#waiters.wake(id));
    } catch (error) {
      await this.close();
      throw translateRedisError(error);
    }
    await this.#timed("home", "", "");
    // Messages were missed while it was away.
    this.#listener.on("ready", () => this.#waiters.wakeAll());
  }

  /** Runs a script that also answers the server's time, and learns it. A suspended machine's own clocks may stand still, or jump. */
  async #timed(...words: [name: "home", home: string, keepMs: number | ""]): Promise<[number]> {
    const [answer, seconds, micros] = await this.#run<[number, Buffer, Buffer]>(...words);
    this.#aheadMs = Number(seconds) * 1_000 + Number(micros) / 1_000 - performance.now();
    return [answer];
  }

  /** Runs a script by its digest. Hands the script itself over where the server does not know it yet. */
  async #run<Reply>(name: keyof typeof rowScripts, ...values: Word[]): Promise<Reply> {
    const words = ["1", this.#prefix, ...values.map(wordOf)];
    const send = (command: string, script: string) => this.#client.sendCommand([command, script, ...words], asBuffers);
    try {
      if (!this.#client.isOpen) throw new MillraceError("degraded", "The log is closed.");
      const reply: unknown = await send("EVALSHA", digests[name] ?? "").catch((error: unknown) => {
        if (error instanceof ErrorReply && error.message.startsWith("NOSCRIPT")) return send("EVAL", rowScripts[name]);
        throw error;
      });
      return reply as Reply; // what the script answers
    } catch (error) {
      // its address may lead to the new primary, and this connection does not end by itself
      if (isReadOnly(error)) void bestEffort(this.#client.sendCommand(["QUIT"]));
      throw translateRedisError(error);
    }
  }
}

/** The first connection fails at once, instead of being tried for ever. */
async function connectOnce(client: Client): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    client.once("error", reject);
    client.connect().then(() => resolve(), reject);
  });
}

/** An operation as the script takes it. Lists have their length before them. */
function packed(op: Op): Word[] {
  if (op.type === "remove") return ["remove", op.id, ...guardWords(op.guard)];
  if (op.type === "insert") {
    const { id, kind, createdAtMs, epoch, last, open, owner, expiresAtMs = "", tags, meta, proof } = op.row;
    const fields: Word[] = ["epoch", epoch, "last", last, "owner", owner, "tags", JSON.stringify(tags), "proof", proof];
    for (const [name, value] of Object.entries(meta)) fields.push(`m:${name}`, JSON.stringify(value));
    const start = ["insert", id, kind, createdAtMs, Number(open), expiresAtMs, op.head];
    return [...start, tags.length, ...tags, fields.length, ...fields];
  }
  const { id, guard, claim = false, set: { owner, open, expiresAtMs, meta = {}, proof } = {}, entries = [] } = op;
  const fields: Word[] = [];
  const gone: string[] = [];
  if (owner !== undefined) fields.push("owner", owner);
  if (proof !== undefined) fields.push("proof", proof);
  for (const [name, value] of Object.entries(meta))
    if (value === null) gone.push(`m:${name}`);
    else fields.push(`m:${name}`, JSON.stringify(value));
  const state = [
    Number(claim),
    open === undefined ? "" : Number(open),
    expiresAtMs === null ? "never" : (expiresAtMs ?? ""),
  ];
  const lists = [fields.length, ...fields, gone.length, ...gone, entries.length, ...entries];
  return ["update", id, ...guardWords(guard), ...state, ...lists];
}

function guardWords(guard: Guard | undefined): Word[] {
  const { epoch = "", last = "", open, goneHome = "" } = guard ?? {};
  return [guard === undefined ? 0 : 1, epoch, last, open === undefined ? "" : Number(open), goneHome];
}

function wordOf(value: Word): string | Buffer {
  if (typeof value === "object") return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
}

/** A row from the fields and values of its hash; undefined if there are none. */
function rowOf(id: string, flat: Flat): Row | undefined {
  if (flat.length === 0) return undefined;
  const columns = new Map<string, Buffer>();
  const meta: Record<string, unknown> = {};
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [name, value] = [String(flat[i]), flat[i + 1] ?? Buffer.alloc(0)];
    if (name.startsWith("m:")) meta[name.slice(2)] = parsedOr(String(value), undefined);
    else columns.set(name, value);
  }
  const text = (name: string) => String(columns.get(name) ?? "");
  return {
    id,
    kind: text("kind") as RowKind, // stored from this union
    createdAtMs: Number(text("created")),
    epoch: Number(text("epoch")),
    last: Number(text("last")),
    open: text("open") === "1",
    owner: text("owner"),
    expiresAtMs: columns.has("expires") ? Number(text("expires")) : undefined,
    tags: parsedOr<string[]>(text("tags"), []),
    meta,
    proof: Uint8Array.from(columns.get("proof") ?? []),
  };
}

const connectTimeout = 2_000;
/** A connection on which nothing comes for so long is lost, as that to a server that stands still; ms. A ping comes before. */
const [pingInterval, socketTimeout] = [10_000, 15_000];
/** How soon it is tried again; ms. The package tries no more after a time-out by itself. */
const reconnectStrategy = (retries: number) => Math.min(2 ** retries * 50, 2_000);

/** How a client of the package `redis` reaches that server. While the connection is gone every command fails at once. */
export function redisClientOptions(url: string) {
  const path = url.startsWith("unix:") ? url.slice("unix:".length) : undefined;
  return {
    ...(path === undefined ? { url } : {}),
    socket: { ...(path === undefined ? {} : { path }), connectTimeout, socketTimeout, reconnectStrategy },
    pingInterval,
    disableOfflineQueue: true,
  } as const;
}

function isReadOnly(error: unknown): boolean {
  return error instanceof ErrorReply && error.message.includes("READONLY");
}

/** Beginnings of replies that blame the server, not the program. Source: redis.io, server replies. */
const serverFaults: readonly (readonly [string, string])[] = [
  ["OOM", "has no memory left"],
  ["MISCONF", "cannot write to its disk"],
  ["READONLY", "is a read-only replica"],
  ["NOREPLICAS", "has fewer replicas than it needs to take writes"],
  ["LOADING", "is still loading its data"],
  ["MASTERDOWN", "has lost its primary"],
  ["NOAUTH", "wants a password"],
  ["WRONGPASS", "refuses the password"],
  ["NOPERM", "does not permit this user to write the log"],
  ["BUSY", "is busy with a script"],
];

/** Translates an error of the Redis client: `degraded` when the server fails or cannot be reached; other errors are bugs and pass unchanged. */
export function translateRedisError(error: unknown): unknown {
  if (isMillraceError(error)) return error;
  if (!(error instanceof ErrorReply)) {
    return new MillraceError("degraded", "The log's Redis server cannot be reached.", {
      hint: "Start it, or check its address.",
      cause: error,
    });
  }
  const text = error.message.replace(/^.*?(?:error in script[^:]*: |ERR user_script:\d+: )/i, "");
  const fault = serverFaults.find(([word]) => text.startsWith(word) || error.message.includes(`-${word} `));
  if (fault === undefined) return error;
  return new MillraceError("degraded", `The log's Redis server ${fault[1]}.`, { cause: error });
}
