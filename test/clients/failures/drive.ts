import { atOnce } from "../at-once.ts";
import type { ClientCase } from "../cases/case.ts";
import { type Failure, type FailureName, failures } from "./failure.ts";
import { type ClientReport, observe, wrongWith } from "./observe.ts";

export interface FailureRow {
  readonly client: ClientCase;
  readonly seen: ReadonlyMap<FailureName, Verdict>;
}

export interface Verdict {
  readonly observed: ClientReport;
  /** What does not hold; undefined when all does. */
  readonly wrong: string | undefined;
}

/** Drives each client through its failures (`failuresOf` its place), `most` of them at a time; `tell` hears of each as it ends. */
export async function driveFailures(
  folder: string,
  clients: readonly ClientCase[],
  failuresOf: (at: number) => readonly FailureName[],
  most: number,
  tell: (client: ClientCase, failure: Failure, verdict: Verdict) => void,
): Promise<readonly FailureRow[]> {
  const rows = clients
    .filter(({ ask }) => ask !== undefined)
    .map((client) => ({ client, seen: new Map<FailureName, Verdict>() }));
  const jobs = rows.flatMap((row, at) =>
    failures.filter(({ name }) => failuresOf(at).includes(name)).map((failure) => ({ ...row, failure })),
  );
  await atOnce(jobs, most, async ({ client, failure, seen }) => {
    const observed = await observe(folder, client, failure);
    const verdict = { observed, wrong: wrongWith(client, failure, observed) };
    seen.set(failure.name, verdict);
    tell(client, failure, verdict);
  });
  return rows;
}

/** Whether the client is known to do what is wrong here: then the suite is held to that, so that a repair shows. */
export function isAsKnown(client: ClientCase, { name }: Failure, { wrong }: Verdict): boolean {
  return client.knownAfter?.[name] === undefined ? wrong === undefined : wrong !== undefined;
}
