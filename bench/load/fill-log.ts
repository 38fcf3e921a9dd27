import { dirname, join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { Emitter } from "../../src/base/emitter.ts";
import { type CascadeId, type ModelUid, newTurnId } from "../../src/base/ids.ts";
import { openStore } from "../../src/cli/compose/compose-store.ts";
import type { TurnEventBody } from "../../src/log/event.ts";
import type { StoreLifecycle } from "../../src/log/lifecycle.ts";
import { defaultRetention } from "../../src/log/store.ts";
import { newTurn, plainRequest } from "../../src/log/turn.fake.ts";
import { model } from "./gateway.ts";

/** The turns that a log is filled with. */
export interface Filling {
  readonly turns: number;
  /** Of each turn's request. */
  readonly historyBytes: number;
  /** Of each turn's answer. */
  readonly events: number;
}

/** How many turns are written at a time. */
const together = 16;

/** Adds ended turns of the last hour to the log of this home, through the store itself. No gateway runs there. */
export async function fillLog(storeFile: string, filling: Filling): Promise<void> {
  const { store } = await openStore({
    storeFile,
    redis: undefined,
    home: "bench",
    logKeyFile: join(dirname(storeFile), "log-key"),
    retention: defaultRetention,
    clock: systemClock,
    events: new Emitter<StoreLifecycle>(),
  });
  const deltas = Array.from({ length: filling.events }, (): TurnEventBody => ({ type: "text", delta: "some words, " }));
  const modelUid = model as ModelUid; // a model of the load server
  const firstAtMs = Date.now() - 3_600_000;
  try {
    for (let done = 0; done < filling.turns; done += together) {
      const numbers = Array.from({ length: Math.min(together, filling.turns - done) }, (_, i) => done + i);
      await Promise.all(
        numbers.map(async (number) => {
          const atMs = firstAtMs + Math.floor((3_000_000 * number) / filling.turns);
          const history = `${number}: ${"what was said before, ".repeat(Math.ceil(filling.historyBytes / 22))}`;
          const request = {
            ...plainRequest,
            model,
            messages: [{ role: "user", parts: [{ type: "text", text: history }] }],
          } as const;
          const turnId = newTurnId(atMs);
          const turn = newTurn({ turnId, createdAtMs: atMs, modelUid, request, fingerprint: turnId });
          const { writer } = await store.create(turn, "filler", { flush: false });
          const cascadeId = turnId as string as CascadeId; // opaque, and never asked for
          const started: TurnEventBody = { type: "started", modelUid, backend: "cascade", cascadeId, ide: "windsurf" };
          const usage = { promptTokens: 1_000, completionTokens: 100, thinkingTokens: 0, estimated: true } as const;
          const text = "some words, ".repeat(filling.events);
          const end: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text };
          await writer?.append([started, ...deltas, { type: "usage", ...usage }], atMs + 1_000);
          await writer?.append([end], atMs + 2_000);
        }),
      );
    }
  } finally {
    await store.close();
  }
}
