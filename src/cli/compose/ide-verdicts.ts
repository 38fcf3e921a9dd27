import { isDeepStrictEqual } from "node:util";
import { bestEffort, timeLimit } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { ideName } from "../../base/ide-name.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { Schemas } from "../../schema/open-schemas.ts";
import { checkIdes, type IdeReport } from "./check-ides.ts";

/** The IDEs that were found and doctor's verdicts on them, as JSON for the dashboard; no secrets. */
export type IdeVerdicts = Awaited<ReturnType<typeof look>>;

/** A verdict is renewed after this time; the IDEs' schemas are large files. */
const keptMs = 60_000;
/** Where something is wrong, people wait for it to be solved. */
const keptWrongMs = 3_000;
const lookMs = 15_000;

interface Look {
  readonly atMs: number;
  keptMs: number;
  readonly verdicts: Promise<IdeVerdicts>;
}

async function look(finder: IdeFinder, schemas: Schemas, nowMs: number) {
  const checked = await checkIdes(finder, schemas, { nowMs, asksPlan: false }, timeLimit(lookMs));
  return {
    object: "ides",
    looked_at: new Date(nowMs).toISOString(),
    data: checked.ides.map((ide) => {
      const { variant, product, stand_in, build, pid } = ide;
      return { variant: ideName(variant), product, stand_in, build, pid, state: stateOf(ide) };
    }),
    findings: checked.findings,
    // Processes that looked like an IDE and were not taken, each with the reason.
    rejected: checked.rejected.map(({ subject, why }) => ({ subject, why })),
  };
}

/**
 * `read` looks as `millrace doctor` does, but for the plan, which the meter reads. Callers at the same time share one look. `mark` is
 * another text once an IDE has ended or another look found something else. It renews a look that is old, without waiting for it.
 */
export function ideVerdicts(
  finder: IdeFinder,
  schemas: Schemas,
  { clock, isAlive }: { readonly clock: Clock; readonly isAlive: (pid: number) => boolean },
) {
  let last: Look | undefined;
  let changes = 0;
  let known: Pick<IdeVerdicts, "data" | "findings"> | undefined;
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
    const verdicts = look(finder, schemas, clock.now());
    const taken = { atMs: nowMs, keptMs, verdicts };
    last = taken;
    void settle(taken);
    return verdicts;
  }
  const mark = (): string => {
    if (known?.data.some(({ pid }) => pid !== null && !isAlive(pid)) === true) {
      [last, known] = [undefined, undefined];
      changes++;
    }
    void bestEffort(read());
    return String(changes);
  };
  return { read, mark };
}

export function stateOf({
  variant,
  problem,
  signed_in: signedIn,
}: Pick<IdeReport, "variant" | "problem" | "signed_in">) {
  if (variant === "antigravity") return "metered only";
  if (problem !== undefined) return "not answering";
  return signedIn ? "ready" : "not signed in";
}
