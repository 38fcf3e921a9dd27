import { isDeepStrictEqual } from "node:util";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { type IdeName, ideName } from "../../base/ide-name.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { Schemas } from "../../schema/open-schemas.ts";
import { checkIdes, type IdeReport } from "../doctor/check-ides.ts";
import type { Finding } from "../doctor/finding.ts";

/** The IDEs that were found and doctor's verdicts on them, as JSON for the dashboard; no secrets. */
export interface IdeVerdicts {
  readonly object: "ides";
  readonly looked_at: string;
  readonly data: readonly {
    readonly variant: IdeName;
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
const keptWrongMs = 3_000;
const lookMs = 15_000;

interface LookAtIdes {
  /** Looks as `millrace doctor` does, but for the plan, which the meter reads. Callers at the same time share one look. */
  readonly read: () => Promise<IdeVerdicts>;
  /** Another text once an IDE has ended or another look found something else. Renews a look that is old, without waiting for it. */
  readonly mark: () => string;
}

interface Look {
  readonly atMs: number;
  keptMs: number;
  readonly verdicts: Promise<IdeVerdicts>;
}

export function ideVerdicts(
  finder: IdeFinder,
  schemas: Schemas,
  { clock, isAlive }: { readonly clock: Clock; readonly isAlive: (pid: number) => boolean },
): LookAtIdes {
  let last: Look | undefined;
  let changes = 0;
  let known: Pick<IdeVerdicts, "data" | "findings"> | undefined;
  async function look(): Promise<IdeVerdicts> {
    const nowMs = clock.now();
    const checked = await checkIdes(finder, schemas, { nowMs, asksPlan: false }, AbortSignal.timeout(lookMs));
    return {
      object: "ides",
      looked_at: new Date(nowMs).toISOString(),
      data: checked.ides.map((ide) => ({
        variant: ideName(ide.variant),
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
      const { data, findings } = await taken.verdicts;
      if (!isDeepStrictEqual(known, { data, findings })) changes++;
      known = { data, findings };
      if (findings.some(({ level }) => level === "error")) taken.keptMs = keptWrongMs;
    } catch {
      if (last === taken) last = undefined; // the next one who asks looks again
    }
  }
  function read(): Promise<IdeVerdicts> {
    const nowMs = clock.monotonic();
    if (last !== undefined && nowMs - last.atMs < last.keptMs) return last.verdicts;
    const verdicts = look();
    const taken = { atMs: nowMs, keptMs, verdicts };
    last = taken;
    void settle(taken);
    return verdicts;
  }
  return {
    read,
    mark() {
      if (known?.data.some(({ pid }) => pid !== null && !isAlive(pid)) === true) {
        [last, known] = [undefined, undefined];
        changes++;
      }
      void bestEffort(read());
      return String(changes);
    },
  };
}

function stateOf({ variant, problem, signed_in: signedIn }: IdeReport): IdeVerdicts["data"][number]["state"] {
  if (variant === "antigravity") return "metered only";
  if (problem !== undefined) return "not answering";
  return signedIn ? "ready" : "not signed in";
}
