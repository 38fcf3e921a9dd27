import { bestEffort } from "../../base/async.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { Capabilities, LanguageServer } from "../../language-server/language-server.ts";
import { CascadeRunStatus } from "../../proto/windsurf/exa/cortex_pb.ts";
import type { Backend, Prompt, ResumePoint, RunOptions } from "../backend.ts";
import { eachAlone } from "../batches.ts";
import type { ServerSource } from "../reach.ts";
import { resumeCascade, runCascade } from "./run.ts";
import type { CascadeSettings } from "./settings.ts";
import { stepsFollower } from "./steps-follower.ts";
import { transcriptFollower } from "./transcript-follower.ts";

/**
 * The 2.x way: a trajectory per turn, followed by polling. By typed steps where the server answers them, by the transcript
 * otherwise; which one, the capabilities of the build say.
 */
export function cascadeBackend(
  source: ServerSource,
  server: LanguageServer,
  capabilities: Capabilities,
  settings: CascadeSettings,
): Backend {
  const parts = { source, server, settings };
  return {
    kind: "cascade",
    run: (prompt: Prompt, options: RunOptions, signal: AbortSignal) =>
      eachAlone(
        capabilities.steps
          ? runCascade(stepsFollower, parts, prompt, options, signal)
          : runCascade(transcriptFollower, parts, prompt, options, signal),
      ),
    resume: (prompt: Prompt, from: ResumePoint, options: RunOptions, signal: AbortSignal) =>
      eachAlone(
        capabilities.steps
          ? resumeCascade(stepsFollower, parts, prompt, from, options, signal)
          : resumeCascade(transcriptFollower, parts, prompt, from, options, signal),
      ),
    archive: (cascadeId: CascadeId, signal: AbortSignal) => stopAndArchive(server, cascadeId, signal),
  };
}

/** The turn of this trajectory may have been lost while the model still wrote its answer. */
async function stopAndArchive(server: LanguageServer, cascadeId: CascadeId, signal: AbortSignal): Promise<void> {
  await bestEffort(stopIfBusy(server, cascadeId, signal));
  await server.archive(cascadeId, signal);
}

async function stopIfBusy(server: LanguageServer, cascadeId: CascadeId, signal: AbortSignal): Promise<void> {
  const { status } = await server.getStatus(cascadeId, signal);
  const isBusy = status === CascadeRunStatus.RUNNING || status === CascadeRunStatus.BUSY;
  if (isBusy) await server.cancel(cascadeId, signal);
}
