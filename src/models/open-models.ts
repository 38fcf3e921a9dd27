import type { Clock } from "../base/clock.ts";
import { isMillraceError } from "../base/errors.ts";
import { SharedCall } from "../base/shared-call.ts";
import type { UserStatus } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { type AccountModel, modelsOf } from "./account-models.ts";
import { createCatalogue } from "./catalogue.ts";
import type { Models } from "./model.ts";
import { nameOfUid } from "./model-name.ts";
import { resolveModel } from "./resolve.ts";

export interface ModelsOptions {
  readonly clock: Clock;
  /** How long a list is believed, in ms. */
  readonly keepMs?: number;
  /** The youngest list that an unknown name makes us ask for again, in ms. */
  readonly doubtMs?: number;
}

interface Snapshot {
  readonly models: readonly AccountModel[];
  readonly takenAtMs: number;
}

/** The account's models, from its live status: kept for a while, asked for once by all callers together. */
export function openModels(
  getUserStatus: (signal: AbortSignal) => Promise<UserStatus>,
  options: ModelsOptions,
): Models {
  const { clock, keepMs = 300_000, doubtMs = 10_000 } = options;
  const catalogue = createCatalogue();
  const call = new SharedCall<Snapshot>();
  let known: Snapshot | undefined;

  async function snapshot(maxAgeMs: number, signal: AbortSignal): Promise<Snapshot> {
    if (known !== undefined && clock.monotonic() - known.takenAtMs < maxAgeMs) return known;
    return call.join(async (shared) => {
      const status = await getUserStatus(shared);
      known = { models: modelsOf(status, catalogue), takenAtMs: clock.monotonic() };
      return known;
    }, signal);
  }

  return {
    async list({ refresh }, signal) {
      return (await snapshot(refresh ? 0 : keepMs, signal)).models;
    },
    nameOf: (uid) => known?.models.find((model) => model.uid === uid)?.name ?? nameOfUid(uid, catalogue),
    async resolve(name, effort, signal) {
      const first = await snapshot(keepMs, signal);
      try {
        return resolveModel(first.models, name, effort);
      } catch (error) {
        // A model may have come since; a misspelt name must not make every request ask the server.
        if (!isMillraceError(error) || error.code !== "unknown_model") throw error;
        const second = await snapshot(doubtMs, signal);
        if (second === first) throw error;
        return resolveModel(second.models, name, effort);
      }
    },
  };
}
