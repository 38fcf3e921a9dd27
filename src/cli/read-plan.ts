import type { Clock } from "../base/clock.ts";
import { MillraceError, toMillraceError } from "../base/errors.ts";
import type { Ide, IdeFinder } from "../ide/ide.ts";
import { readAntigravityPlan } from "../usage/antigravity-calls.ts";
import type { PlanAnswer } from "../usage/plan-answer.ts";

/**
 * Asks every running IDE for its plan: one of each product, the newest. An IDE that does not answer is a failed answer
 * beside the others'; the finder is told, so that it looks again.
 *
 * @throws MillraceError `ide_not_running` when none runs.
 */
export async function readPlans(finder: IdeFinder, clock: Clock, signal: AbortSignal): Promise<readonly PlanAnswer[]> {
  const { ides } = await finder.find(signal);
  // In order of preference, newest first: the first of a product is the one that is meant.
  const chosen = [...Map.groupBy(ides, ({ variant }) => variant).values()].flatMap((ofVariant) => {
    const ide = ofVariant.find(({ signedIn }) => signedIn) ?? ofVariant[0];
    return ide === undefined ? [] : [ide];
  });
  if (chosen.length === 0) throw new MillraceError("ide_not_running", "No IDE with a language server runs.");
  return Promise.all(
    chosen.map(async (ide): Promise<PlanAnswer> => {
      try {
        return await readPlan(finder, ide, clock, signal);
      } catch (error) {
        finder.invalidate(ide);
        return { type: "failed", ide: ide.variant, error: toMillraceError(error) };
      }
    }),
  );
}

async function readPlan(finder: IdeFinder, ide: Ide, clock: Clock, signal: AbortSignal): Promise<PlanAnswer> {
  const { variant, build } = ide;
  const server = await finder.connect(ide, signal); // also holds that the port still belongs to that process
  if (variant === "antigravity") {
    const plan = await readAntigravityPlan(ide.endpoint, clock.now(), signal);
    return { type: "antigravity", ide: variant, build, ...plan };
  }
  return { type: "windsurf", ide: variant, build, userStatus: await server.getUserStatus(signal) };
}
