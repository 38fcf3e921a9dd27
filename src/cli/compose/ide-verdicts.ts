import type { Clock } from "../../base/clock.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { Schemas } from "../../schema/open-schemas.ts";
import { checkIdes, type IdeReport } from "../doctor/check-ides.ts";
import type { Finding } from "../doctor/finding.ts";

/** The IDEs that were found and doctor's verdicts on them, as JSON for the dashboard; no secrets. */
export interface IdeVerdicts {
  readonly object: "ides";
  readonly looked_at: string;
  readonly data: readonly {
    readonly variant: IdeReport["variant"];
    readonly product: string;
    readonly build: string;
    readonly pid: number | null;
    readonly state: "ready" | "not signed in" | "metered only" | "not answering";
  }[];
  readonly findings: readonly Finding[];
  /** Processes that looked like an IDE and were not taken, each with the reason. */
  readonly rejected: readonly { readonly subject: string; readonly why: string }[];
}

/** A verdict is renewed after this time; the IDEs' schemas are large files. */
const keptMs = 60_000;
/** Where something is wrong, people wait for it to be solved. */
const keptWrongMs = 10_000;
const lookMs = 15_000;

interface Look {
  readonly atMs: number;
  keptMs: number;
  readonly verdicts: Promise<IdeVerdicts>;
}

/** Looks as `millrace doctor` does, but for the plan, which the meter reads. Callers at the same time share one look. */
export function ideVerdicts(finder: IdeFinder, schemas: Schemas, clock: Clock): () => Promise<IdeVerdicts> {
  let last: Look | undefined;
  async function look(): Promise<IdeVerdicts> {
    const nowMs = clock.now();
    const checked = await checkIdes(finder, schemas, { nowMs, asksPlan: false }, AbortSignal.timeout(lookMs));
    return {
      object: "ides",
      looked_at: new Date(nowMs).toISOString(),
      data: checked.ides.map((ide) => ({
        variant: ide.variant,
        product: ide.product,
        build: ide.build,
        pid: ide.pid,
        state: stateOf(ide),
      })),
      findings: checked.findings,
      rejected: checked.rejected.map(({ subject, why }) => ({ subject, why })),
    };
  }
  async function settle(taken: Look): Promise<void> {
    try {
      const { findings } = await taken.verdicts;
      if (findings.some(({ level }) => level === "error")) taken.keptMs = keptWrongMs;
    } catch {
      if (last === taken) last = undefined; // the next one who asks looks again
    }
  }
  return () => {
    const nowMs = clock.monotonic();
    if (last !== undefined && nowMs - last.atMs < last.keptMs) return last.verdicts;
    const verdicts = look();
    const taken = { atMs: nowMs, keptMs, verdicts };
    last = taken;
    void settle(taken);
    return verdicts;
  };
}

function stateOf({ variant, problem, signed_in: signedIn }: IdeReport): IdeVerdicts["data"][number]["state"] {
  if (variant === "antigravity") return "metered only";
  if (problem !== undefined) return "not answering";
  return signedIn ? "ready" : "not signed in";
}
