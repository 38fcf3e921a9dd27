import type { ModelUid } from "../base/ids.ts";

/** The backend of a model's prompts. */
export type ModelBackend = "acp" | "cascade" | "raw_chat";

/** One model of the account, from the live list. */
export interface Model {
  readonly uid: ModelUid;
  /** The `Model` enum's number and name where it has one. */
  readonly number: number | undefined;
  readonly enumName: string | undefined;
  /** `claude-opus-4.5:high`; unique in a list. */
  readonly name: string;
  readonly label: string;
  readonly vendor: string;
  readonly contextTokens: number | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly supportsImages: boolean;
  readonly creditMultiplier: number | undefined;
  readonly costTier: "free" | "low" | "medium" | "high" | undefined;
  readonly isNew: boolean;
  readonly isDefault: boolean;
  /** Why it cannot be called; undefined when it can. */
  readonly disabledReason: string | undefined;
  /** Family and effort: the list's where it groups them, else by the name. */
  readonly family: string | undefined;
  readonly effort: string | undefined;
  /** The backend that serves it; undefined where the list does not say. */
  readonly backend: ModelBackend | undefined;
}

/** A model's price in credits for one prompt; undefined where the list does not say. */
export function priceOf(model: Partial<Pick<Model, "costTier" | "creditMultiplier">>): number | undefined {
  return model.costTier === "free" ? 0 : model.creditMultiplier;
}

/** How a name was understood. */
export interface Resolution {
  readonly model: Model;
  readonly asked: string;
  readonly rule: "uid" | "name" | "variant" | "alias" | "newest" | "enum" | "effort";
}

/** The account's models, live. Calls that need a server throw the errors of finding one. */
export interface Models {
  list(options: { readonly refresh: boolean }, signal: AbortSignal): Promise<readonly Model[]>;
  /** The name of a UID: from the last list, else from the UID itself. Sends no request. */
  nameOf(uid: string): string;
  /** Throws `unknown_model` naming the nearest three, `model_not_allowed` for a disabled one. Never a default. */
  resolve(name: string, effort: string | undefined, signal: AbortSignal): Promise<Resolution>;
}
