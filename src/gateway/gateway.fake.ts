import { FakeClock } from "../base/clock.fake.ts";
import { Emitter } from "../base/emitter.ts";
import { Secret } from "../base/secret.ts";
import { FakeModels } from "../models/models.fake.ts";
import type { TurnLifecycle } from "../turns/lifecycle.ts";
import { openHistory } from "../usage/history/sqlite-history.ts";
import type { UsageLifecycle } from "../usage/lifecycle.ts";
import { reportsOf } from "../usage/reports.ts";
import { inMemory } from "./http/in-memory.ts";
import { type GatewayOptions, type OpenGateway, openGateway } from "./open-gateway.ts";
import { ScriptedTurns } from "./scripted-turns.fake.ts";

export const fakeKey = "mr-test-key-0123456789abcdef";
export const guestKey = "mr-guest-key-0123456789abcdef";

/** A meter that has no readings and keeps nothing. Its time is 1 s where the caller waits for a reading, else 0. */
export const idleMeter: GatewayOptions["meter"] = {
  limits: async ({ wait }) => ({ nowMs: wait ? 1000 : 0, readings: [], errors: [] }),
  elsewhere: () => Promise.resolve(undefined),
  ask: reportsOf(openHistory({ file: ":memory:" })),
  lastUses: () => new Map(),
};

/** What a gateway is given, where the test needs none of it. */
export const noParts: Pick<GatewayOptions, "meter" | "lendKey" | "adjustDoors" | "issuedKeys" | "ides"> = {
  meter: idleMeter,
  lendKey: () => Promise.resolve(undefined),
  adjustDoors: () => Promise.resolve([]),
  issuedKeys: () => [],
  ides: () => Promise.resolve({}),
};

/** A gateway over fake turns and models and a clock that stands still, with its log lines kept. */
export interface FakeGateway {
  readonly gateway: OpenGateway;
  readonly turns: ScriptedTurns;
  /** The source of the gateway's events, unless the test gave another one. */
  readonly events: Emitter<TurnLifecycle & UsageLifecycle>;
  readonly models: FakeModels;
  readonly clock: FakeClock;
  readonly logged: {
    readonly level: string;
    readonly event: string;
    readonly fields: Readonly<Record<string, unknown>>;
  }[];
  /** Asks with the owner's key and a loopback Host, unless `init` says otherwise. A plain object as `json` is the body. */
  /** For SDKs: `fetch` that ends in this gateway, without a socket. */
  readonly fetch: typeof fetch;
  readonly request: (path: string, init?: RequestInit & { readonly json?: unknown }) => Promise<Response>;
}

export function fakeGateway(options: Partial<GatewayOptions> = {}): FakeGateway {
  const clock = new FakeClock();
  const events = new Emitter<TurnLifecycle & UsageLifecycle>();
  const turns = new ScriptedTurns(options.clock ?? clock, events);
  const models = new FakeModels();
  const logged: FakeGateway["logged"] = [];
  const gateway = openGateway({
    turns,
    events,
    models,
    clock,
    log: { write: (level, event, fields) => void logged.push({ level, event, fields }) },
    keys: [
      { name: "owner", key: new Secret(fakeKey) },
      { name: "guest", key: new Secret(guestKey) },
    ],
    ...noParts,
    version: "0.0.0-test",
    instance: "instance-test",
    ...options,
    timing: { errorApartMs: 0, ...options.timing }, // its clock stands still
  });
  const ask = inMemory(gateway.handle);
  return {
    gateway,
    turns,
    events,
    models,
    clock,
    logged,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const headers = new Headers(request.headers);
      headers.set("host", "127.0.0.1:42100");
      const body = request.body === null ? {} : { body: await request.text() };
      return ask(new Request(request.url, { method: request.method, headers, signal: request.signal, ...body }));
    },
    async request(path, { json, ...init } = {}) {
      const headers = new Headers({ host: "127.0.0.1:42100", authorization: `Bearer ${fakeKey}` });
      for (const [name, value] of new Headers(init.headers)) {
        if (value === "" && headers.has(name)) headers.delete(name);
        else headers.set(name, value);
      }
      const body = json === undefined ? init.body : JSON.stringify(json);
      const method = init.method ?? (json === undefined ? "GET" : "POST");
      return ask(new Request(`http://gateway${path}`, { ...init, method, headers, ...(body == null ? {} : { body }) }));
    },
  };
}
