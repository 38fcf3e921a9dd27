import type { Backend } from "../../../backends/backend.ts";
import { cascadeBackend } from "../../../backends/cascade/backend.ts";
import { PollPacer } from "../../../backends/cascade/poll-pacer.ts";
import { defaultPace } from "../../../backends/cascade/poll-schedule.ts";
import { deadline } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { MillraceError } from "../../../base/errors.ts";
import type { ModelUid } from "../../../base/ids.ts";
import type { Ide, IdeFinder } from "../../../ide/ide.ts";
import { isWithoutCascade } from "../../../language-server/product-name.ts";

/** Cascade of a running editor, and the model of the prompts to it. */
export interface CascadeToAsk {
  readonly backend: Backend;
  readonly model: ModelUid;
}

const callLimitMs = 20_000;

/**
 * Undefined for a build without Cascade: its prompts go to the agent. Sends no prompt.
 *
 * @throws `unknown_model` for a model that the account does not have; the errors of connecting.
 */
export async function cascadeToAsk(
  { finder, clock }: { readonly finder: IdeFinder; readonly clock: Clock },
  ide: Ide,
  wanted: string | undefined,
  signal: AbortSignal,
): Promise<CascadeToAsk | undefined> {
  if (ide.build === "" || isWithoutCascade(ide.build)) return undefined;
  const limited = deadline(signal, callLimitMs);
  const server = await finder.connect(ide, limited);
  const capabilities = await server.capabilities(limited);
  if (!capabilities.cascade) return undefined;
  const { cascadeModelConfigData: listed } = await server.getUserStatus(limited);
  const usable = (listed?.clientModelConfigs ?? []).filter(({ disabled, modelUid }) => !disabled && modelUid !== "");
  const [cheapest] = usable.toSorted((a, b) => a.creditMultiplier - b.creditMultiplier);
  const chosen = wanted === undefined ? cheapest : usable.find(({ modelUid }) => modelUid === wanted);
  if (chosen === undefined) {
    if (wanted === undefined) return undefined;
    throw new MillraceError("unknown_model", `The account has no model "${wanted}" for Cascade.`, {
      hint: "Leave --model out, or name the uid of a model.",
    });
  }
  const source = { find: (again: AbortSignal) => finder.connect(ide, again), forget: () => {} };
  const settings = {
    clock,
    pace: defaultPace,
    pacer: new PollPacer(clock),
    silenceMs: 120_000,
    acceptGraceMs: 3_000,
    ideTools: "read" as const,
  };
  return {
    backend: cascadeBackend(source, server, capabilities, settings),
    model: chosen.modelUid as ModelUid, // this is where they come from
  };
}
