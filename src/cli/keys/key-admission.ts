import { MillraceError } from "../../base/errors.ts";
import type { NewTurn } from "../../log/store.ts";
import type { Admission } from "../../turns/start/admission.ts";
import type { IssuedKeys } from "./issued-keys.ts";
import type { KeyBudgets } from "./key-budget.ts";
import type { KeyRecord } from "./key-record.ts";

export interface KeyAdmissionOptions {
  readonly keys: Pick<IssuedKeys, "keyOf">;
  readonly budgets: Pick<KeyBudgets, "hold">;
  /** The name of a model's UID. */
  readonly nameOf: (uid: string) => string;
}

const nothing = () => {};

/** Checks each turn against the limits of its key: APIs, models, budget. The owner's key has none. */
export function keyAdmission({ keys, budgets, nameOf }: KeyAdmissionOptions): Admission {
  return {
    admit(turn) {
      const key = keys.keyOf(turn.caller);
      if (key === undefined) return nothing;
      checkApi(key, turn);
      checkModel(key, turn, nameOf(turn.modelUid));
      return budgets.hold(key, turn.turnId);
    },
  };
}

function checkApi({ name, apis }: KeyRecord, { dialect }: NewTurn): void {
  if (apis.length === 0 || apis.some((api) => api === dialect)) return;
  throw new MillraceError("model_not_allowed", `The key ${name} may not use this API (${dialect}).`, {
    hint: `It may use: ${apis.join(", ")}.`,
  });
}

function checkModel({ name, models }: KeyRecord, { modelUid, request }: NewTurn, modelName: string): void {
  const names = [modelUid, modelName, request.model].map((each) => each.toLowerCase());
  if (models.length === 0 || models.some((model) => names.includes(model.toLowerCase()))) return;
  throw new MillraceError("model_not_allowed", `The key ${name} may not use the model ${modelName}.`, {
    hint: `It may use: ${models.join(", ")}.`,
    param: "model",
  });
}
