import type { SessionSpend, SpendQuery } from "./history/history.ts";
import { localDays } from "./history/local-days.ts";

/** One model call in Devin's own records, or several of one quarter of an hour, with the tokens that it counted. */
export interface DevinCall {
  readonly atMs: number;
  /** One where absent. */
  readonly calls?: number;
  /** The model UID; undefined where it is not noted. */
  readonly model: string | undefined;
  /** The folder of the session; undefined where it is not noted. */
  readonly project: string | undefined;
  /** With some models without the cached ones. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheCreationTokens: number;
  readonly outputTokens: number;
}

/** Sums of calls that did not go through Millrace. */
export interface ElsewhereSpend extends Omit<DevinCall, "atMs" | "calls" | "model" | "project"> {
  /** The model UID, the project or the day; undefined if it is not known. */
  readonly key: string | undefined;
  readonly calls: number;
}

/** What Devin used without Millrace; `problem`: why it could not be read. */
export type Elsewhere =
  | { readonly rows: readonly ElsewhereSpend[]; readonly own: OwnSessions | undefined }
  | { readonly problem: string };

/** Millrace's own sessions that both records have whole in the time asked for, summed by each of the two. */
export interface OwnSessions {
  readonly sessions: number;
  readonly millrace: Pick<SessionSpend, "promptTokens" | "completionTokens">;
  readonly devin: Omit<ElsewhereSpend, "key">;
  /** Whether they are more than a tenth apart. */
  readonly differs: boolean;
}

/**
 * Millrace's count of its sessions beside Devin's; undefined where no session is in both. A session with a call outside the time is
 * left out, and so is a call after its last counted turn.
 */
export function compared(
  sessions: readonly SessionSpend[],
  callsOf: ReadonlyMap<string, readonly DevinCall[]>,
  { sinceMs, untilMs, timeZone }: SpendQuery,
): OwnSessions | undefined {
  const common = sessions.flatMap((session) => {
    const calls = (callsOf.get(session.cascadeId) ?? []).filter((one) => one.atMs <= session.lastEndedAtMs);
    return calls.length === 0 || calls.some(({ atMs }) => atMs < sinceMs) ? [] : [{ session, calls }];
  });
  const all = common.flatMap(({ calls }) => calls).map((call) => ({ ...call, model: undefined }));
  const [sum] = summed(all, { sinceMs, untilMs, timeZone, by: "model" });
  if (sum === undefined) return undefined;
  const { key: _, ...devin } = sum;
  const add = (of: "promptTokens" | "completionTokens") =>
    common.reduce((total, { session }) => total + session[of], 0);
  const millrace = { promptTokens: add("promptTokens"), completionTokens: add("completionTokens") };
  // Whether `inputTokens` has the cached ones depends on the model, so the prompt may be any of these.
  const mostInput = devin.inputTokens + devin.cacheReadTokens + devin.cacheCreationTokens;
  const differs =
    isApart(millrace.promptTokens, devin.inputTokens, mostInput) ||
    isApart(millrace.completionTokens, devin.outputTokens, devin.outputTokens);
  return { sessions: common.length, millrace, devin, differs };
}

function isApart(count: number, least: number, most: number): boolean {
  return count < least * 0.9 || count > most * 1.1;
}

/** Calls in that time, by model, project or day: the largest first, days in order. */
export function summed(
  calls: readonly DevinCall[],
  { sinceMs, untilMs, by, timeZone }: SpendQuery,
): readonly ElsewhereSpend[] {
  const dayOf = localDays(timeZone);
  const sums = new Map<string | undefined, ElsewhereSpend>();
  for (const call of calls) {
    if (call.atMs < sinceMs || call.atMs >= untilMs) continue;
    const key = by === "model" ? call.model : by === "project" ? call.project : dayOf(call.atMs);
    const sum = sums.get(key);
    sums.set(key, {
      key,
      calls: (sum?.calls ?? 0) + (call.calls ?? 1),
      inputTokens: (sum?.inputTokens ?? 0) + call.inputTokens,
      cacheReadTokens: (sum?.cacheReadTokens ?? 0) + call.cacheReadTokens,
      cacheCreationTokens: (sum?.cacheCreationTokens ?? 0) + call.cacheCreationTokens,
      outputTokens: (sum?.outputTokens ?? 0) + call.outputTokens,
    });
  }
  const rows = [...sums.values()];
  return by === "day"
    ? rows.sort((a, b) => (a.key ?? "").localeCompare(b.key ?? ""))
    : rows.sort((a, b) => all(b) - all(a));
}

function all({ inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens }: ElsewhereSpend): number {
  return inputTokens + cacheReadTokens + cacheCreationTokens + outputTokens;
}
