import { systemClock } from "../../src/base/clock.ts";
import { Emitter } from "../../src/base/emitter.ts";
import type { MillraceError } from "../../src/base/errors.ts";
import { Secret } from "../../src/base/secret.ts";
import { until } from "../../src/base/wait.fake.ts";
import { fakeConsents } from "../../src/gateway/consents.fake.ts";
import { readDashboard } from "../../src/gateway/dashboard/dashboard-files.ts";
import type { KeptSession } from "../../src/gateway/dashboard/dashboard-sessions.ts";
import type { IssuedKey } from "../../src/gateway/dashboard/inventory.ts";
import { noParts } from "../../src/gateway/gateway.fake.ts";
import type { StoreState } from "../../src/gateway/http/options.ts";
import { openGateway } from "../../src/gateway/open-gateway.ts";
import { openMemoryLog } from "../../src/log/memory-log.fake.ts";
import { encodeKey } from "../../src/log/sealing/keys.ts";
import { plainRequest } from "../../src/log/turn.fake.ts";
import { FakeModels } from "../../src/models/models.fake.ts";
import type { TurnLifecycle } from "../../src/turns/lifecycle.ts";
import { asking, fakeTurns } from "../../src/turns/turns.fake.ts";
import { turnFake } from "../../src/usage/history/history.fake.ts";
import { openHistory } from "../../src/usage/history/sqlite-history.ts";
import type { UsageLifecycle } from "../../src/usage/lifecycle.ts";
import { openMeter } from "../../src/usage/meter.ts";
import type { PlanAnswer } from "../../src/usage/plan-answer.ts";
import { openUsageRecorder } from "../../src/usage/usage-recorder.ts";
import {
  antigravityNow,
  manyModels,
  pastReadings,
  planNow,
  someIdes,
  someModels,
  withoutUsableIde,
} from "./dashboard-data.ts";

const key = "mr-browser-test-key-0123456789";

export interface DashboardWorld {
  readonly url: string;
  readonly turns: ReturnType<typeof fakeTurns>;
  /** Sends a chat request without waiting for its answer; `more` are headers. */
  ask(text: string, project?: string, more?: Readonly<Record<string, string>>): void;
  /** Sends a chat request whose client leaves once its turn runs, with the time that it goes on. */
  askAndLeave(text: string, grace: string): Promise<void>;
  /** Sends a chat request and waits for its status. */
  askStatus(text: string, more?: Readonly<Record<string, string>>): Promise<number>;
  /** Asks over a stream that its client sealed. */
  askSealed(text: string): Promise<void>;
  link(): Promise<string>;
  /** The gateway's process ends, and another one begins on the same port, over the same log. */
  restart(): Promise<void>;
  /** The gateway's process ends. */
  stop(): Promise<void>;
  /** A gateway begins on the same port, over the same log. */
  start(): Promise<void>;
  /** The owner pauses the gateway, or ends the pause. */
  pause(since: string | null): void;
  /** From now on an IDE can be used. */
  findIdes(): void;
  /** From now on none can. */
  loseIdes(): void;
  close(): Promise<void>;
}

function keyNamed(name: string): IssuedKey {
  const times = { createdAtMs: Date.now(), expiresAtMs: undefined, revokedAtMs: undefined };
  return { ...times, name, caller: "1", state: "works", models: [name, name], turnsPerDay: undefined };
}

/** A real gateway on a port of its own, over real turns whose answers a test writes, and a plan of this moment. */
export async function dashboardWorld(options: {
  readonly folder: string;
  readonly plan: "none" | MillraceError | "full";
  readonly pastTurns: number;
  /** How far apart past turns ended, ms. */
  readonly everyMs?: number;
  readonly keys?: readonly IssuedKey[];
  /** What is wrong with the log's file. */
  readonly degradedBy?: MillraceError;
  /** The log was damaged when the gateway opened it. */
  readonly damaged?: StoreState["damaged"];
  /** Whether the only IDE has no account signed in. */
  readonly signedOut?: boolean;
  /** Whether nothing of the first IDE's plan was used. */
  readonly unused?: true;
  /** How much of the first IDE's plan is used, percent; else some of it. */
  readonly usedPercent?: number;
  /** Models beside those of `someModels`, which stand for an account with hundreds. */
  readonly moreModels?: number;
  /** A name for a project of each past turn, beside its number, and for a key of another program. */
  readonly longWords?: string;
  /** Whether no IDE runs, and an agent is asked. */
  readonly usesAgent?: true;
  /** Whether the first IDE is a stand-in. */
  readonly standIn?: true;
  /** Whether nobody has agreed yet that prompts go to the IDE. */
  readonly needsConsent?: boolean;
}): Promise<DashboardWorld> {
  const clock = systemClock;
  const now = clock.now();
  const history = openHistory({ file: ":memory:" });
  const clients = ["opencode", "claude-cli", "codex"];
  for (let index = 0; index < options.pastTurns; index++) {
    history.addTurn(
      turnFake({
        turnId: `turn_past_${index}`,
        endedAtMs: now - 600_000 - index * (options.everyMs ?? 37 * 60_000),
        model: index % 3 === 0 ? "swe-1p5" : "claude-opus-4-5",
        client: clients[index % 3],
        project:
          options.longWords !== undefined
            ? `/home/ada/${index}-${options.longWords}`
            : index % 4 === 0
              ? undefined
              : `/home/ada/work/${index % 2 === 0 ? "engine" : "notes-with-a-rather-long-name"}`,
        promptTokens: 1700 + index * 31,
        completionTokens: 300 + index * 7,
        tokenSource: index % 5 === 0 ? "estimated" : "measured",
        ...(index % 11 === 0 ? { outcome: "failed", reason: "quota_exhausted" } : { outcome: "finished" }),
      }),
    );
  }
  const share = options.unused === true ? 0 : 1;
  if (options.pastTurns > 0) for (const snapshot of pastReadings(now, share)) history.addSnapshot(snapshot);
  const answers = (): PlanAnswer[] => [
    {
      type: "windsurf",
      ide: "windsurf",
      build: "2.3.15",
      ...(options.standIn === true ? { standIn: true } : {}),
      userStatus: planNow(now, {
        daily: options.usedPercent ?? 38 * share,
        weekly: options.usedPercent ?? 61 * share,
      }),
    },
    {
      type: "antigravity",
      ide: "antigravity",
      build: "1.14.2",
      userStatus: antigravityNow(now),
      quotaSummary: undefined,
    },
  ];
  const readPlan = (): Promise<PlanAnswer[]> => {
    if (options.plan === "full") return Promise.resolve(answers());
    return options.plan === "none" ? Promise.resolve([]) : Promise.reject(options.plan);
  };
  const events = new Emitter<TurnLifecycle & UsageLifecycle>();
  const meter = openMeter({ readPlan, history, clock, events });
  const turns = fakeTurns({ events, clock, store: openMemoryLog({ clock }) });
  const recorder = openUsageRecorder({ turns: turns.turns, meter, events });
  events.on("turn_started", ({ turnId }) => recorder.watch(turnId));
  let sessions: readonly KeptSession[] = [];
  let hasIdes = options.plan === "full";
  let pausedSince: string | null = null;
  const consents = fakeConsents();
  const open = () =>
    openGateway({
      ...noParts,
      turns: turns.turns,
      events,
      models: new FakeModels([...someModels, ...manyModels(options.moreModels ?? 0)]),
      issuedKeys: () => options.keys ?? (options.longWords === undefined ? [] : [keyNamed(options.longWords)]),
      ...(options.needsConsent === true ? { consents } : {}),
      pauseState: () => (pausedSince === null ? null : { since: pausedSince }),
      clock,
      log: { write: () => {} },
      keys: [{ name: "owner", key: new Secret(key) }],
      version: "0.0.0-test",
      instance: "browser-test",
      meter,
      dashboard: readDashboard(options.folder),
      sessionStore: {
        load: () => sessions,
        save: (kept) => {
          sessions = kept;
        },
        removeLinkFile: () => undefined,
      },
      storeState: () => ({
        degraded: options.degradedBy !== undefined,
        why: options.degradedBy?.message ?? null,
        hint: options.degradedBy?.hint ?? null,
        damaged: options.damaged ?? null,
      }),
      idesMark: () => String(hasIdes),
      ides: () => Promise.resolve(hasIdes ? someIdes(now) : withoutUsableIde(now, options)),
    });
  let listening = await open().listen({ host: "127.0.0.1", port: 0 });
  const { url, port } = listening;
  const stop = () => listening.close();
  const start = async () => {
    listening = await open().listen({ host: "127.0.0.1", port });
  };
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const leaving = new AbortController();
  let closing: Promise<void> | undefined;
  return {
    url,
    turns,
    async restart() {
      await stop();
      await start();
    },
    stop,
    start,
    pause(since) {
      pausedSince = since;
    },
    findIdes() {
      hasIdes = true;
    },
    loseIdes() {
      hasIdes = false;
    },
    ask(text, project, more) {
      const body = JSON.stringify({ model: "test-model", messages: [{ role: "user", content: text }] });
      const named = project === undefined ? headers : { ...headers, "x-millrace-project": project };
      const init = {
        method: "POST",
        headers: { ...named, "user-agent": "opencode/1.2.3", ...more },
        body,
        signal: leaving.signal,
      };
      fetch(`${url}/v1/chat/completions?detach=1`, init).catch(() => undefined); // the test reads the page instead
    },
    async askAndLeave(text, grace) {
      const before = turns.backend.answers.length;
      const here = new AbortController();
      const body = JSON.stringify({ model: "test-model", stream: true, messages: [{ role: "user", content: text }] });
      const init = { method: "POST", headers: { ...headers, "user-agent": "codex/1.2.3", "x-millrace-grace": grace } };
      fetch(`${url}/v1/chat/completions`, { ...init, body, signal: here.signal }).catch(() => undefined);
      await until(() => turns.backend.answers.length > before);
      here.abort();
    },
    async askStatus(text, more = {}) {
      const body = JSON.stringify({ model: "test-model", messages: [{ role: "user", content: text }] });
      const init = { method: "POST", headers: { ...headers, "user-agent": "opencode/1.2.3", ...more }, body };
      const response = await fetch(`${url}/v1/chat/completions`, { ...init, signal: leaving.signal });
      await response.text();
      return response.status;
    },
    async askSealed(text) {
      const name = { caller: "caller-1", name: "stream-1", clientKey: encodeKey(new Uint8Array(32).fill(4)) };
      const attachment = await turns.turns.attach(name, "create");
      const message = { seqno: 0, payload: new TextEncoder().encode(text) };
      const request = {
        ...plainRequest,
        messages: [{ role: "user" as const, parts: [{ type: "text" as const, text }] }],
      };
      const asked = asking({
        dialect: "idempotent",
        client: "millrace-chat/1.0.0",
        request,
        graceMs: Number.POSITIVE_INFINITY,
      });
      await attachment.send(message, asked, leaving.signal);
      attachment.close();
    },
    async link() {
      const response = await fetch(`${url}/dashboard/api/link`, { method: "POST", headers });
      const { path } = (await response.json()) as { readonly path: string };
      return `${url}${path}`;
    },
    close() {
      closing ??= (async () => {
        leaving.abort();
        await recorder.stop();
        await turns.turns.stop();
        await listening.close();
        history.close();
      })();
      return closing;
    },
  };
}
