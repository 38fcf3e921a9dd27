import type { Backends } from "../../backends/backend.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { BackendKind } from "../../log/event.ts";

/** An agent may have to be started first: OpenCode took 10 s on a busy machine. */
const archiveMs: Readonly<Record<BackendKind, number>> = { cascade: 5_000, raw_chat: 5_000, acp: 60_000 };

/** Only cascades and sessions of agents are ever archived. */
function kindOf(cascadeId: CascadeId): BackendKind {
  return cascadeId.startsWith("acp:") ? "acp" : "cascade";
}

/** Archives trajectories over the backend that there is then. */
export function archiverOf(backends: Backends): (cascadeId: CascadeId) => Promise<void> {
  return async (cascadeId) => {
    const backend = kindOf(cascadeId);
    const signal = AbortSignal.timeout(archiveMs[backend]);
    await (await backends.holding({ backend, cascadeId }, signal)).archive(cascadeId, signal);
  };
}
