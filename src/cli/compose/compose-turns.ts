import type { Backends } from "../../backends/backend.ts";
import type { Clock } from "../../base/clock.ts";
import type { Emitter } from "../../base/emitter.ts";
import { estimateTokens } from "../../base/token-estimate.ts";
import type { CascadeJournal } from "../../ide/cascades/cascade-journal.ts";
import type { LogStore } from "../../log/store.ts";
import type { Model } from "../../models/model.ts";
import type { StreamTurns } from "../../turns/attach.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import { openTurns } from "../../turns/open-turns.ts";
import type { Admission, TurnsOptions } from "../../turns/options.ts";
import { layoutPrompt } from "../../turns/prompt/layout.ts";
import type { TurnLimits } from "../../turns/queue.ts";
import type { RefusalsOptions } from "../../turns/refusals.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import type { LimitsSnapshot } from "../../usage/limits.ts";
import { quotaAdvice, quotaReset } from "../../usage/quota-reset.ts";
import { machineOf, ownerIsGone } from "../gateway-process/owner.ts";
import { trajectoryNotes } from "./own-cascades.ts";

export interface TurnParts {
  readonly clock: Clock;
  readonly store: LogStore;
  readonly backends: Backends;
  readonly events: Emitter<TurnLifecycle & UsageLifecycle>;
  readonly journal: CascadeJournal;
  /** Names this process in the store and the journal. */
  readonly owner: string;
  /** As `TurnsOptions.account`, where gateways of several machines share the store. */
  readonly account: TurnsOptions["account"];
  /** The server's own word on whether a model may be asked now. */
  readonly limitOf: RefusalsOptions["limitOf"];
  readonly contextTokens: (modelUid: string) => number | undefined;
  /** The models that cost nothing, as far as they are known. */
  readonly free: () => readonly Model[];
  readonly admission: Admission;
  readonly limits: TurnLimits;
  readonly graceMs: number;
  /** How long a trajectory stays open for the next turn of its conversation; undefined: every turn has a fresh one. */
  readonly continuityIdleMs: number | undefined;
}

/** The turns of a gateway, with prompts laid out for their models. */
export function composeTurns(parts: TurnParts): StreamTurns {
  const { clock, store, backends, events, journal, owner, limitOf, contextTokens, graceMs } = parts;
  const { continuityIdleMs: idleMs } = parts;
  return openTurns({
    store,
    backends,
    clock,
    events,
    graceMs,
    implicitJoins: true,
    owner,
    ownerIsGone: (other) => ownerIsGone(other, owner),
    ...(parts.account === undefined ? {} : { account: parts.account }),
    isElsewhere: (other) => machineOf(other) !== machineOf(owner),
    layout: (request, model, options) =>
      layoutPrompt(request, { ...model, contextTokens: contextTokens(model.uid) }, options).prompt,
    countTokens: estimateTokens,
    resetOf: quotaResets(events, clock),
    adviceOf: (resetsAtMs, isRefused) =>
      quotaAdvice(
        resetsAtMs,
        parts.free().filter(({ uid }) => !isRefused(uid)),
        clock.now(),
      ),
    limitOf,
    admission: parts.admission,
    limits: parts.limits,
    trajectoryNotes: trajectoryNotes(journal, owner, clock),
    ...(idleMs === undefined ? {} : { continuity: { idleMs } }),
  });
}

/** The reset time of the plans that pay for prompts, from the last reading; Antigravity is metered only. */
function quotaResets(events: Emitter<UsageLifecycle>, clock: Clock): RefusalsOptions["resetOf"] {
  let plans: readonly LimitsSnapshot[] = [];
  events.on("limits_changed", ({ readings }) => {
    plans = readings.map(({ snapshot }) => snapshot).filter(({ ide }) => ide !== "antigravity");
  });
  return (window) => quotaReset(plans, clock.now(), window);
}
