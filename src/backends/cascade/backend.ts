import { bestEffort } from "../../base/async.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { Capabilities, LanguageServer } from "../../language-server/language-server.ts";
import { CascadeRunStatus } from "../../proto/windsurf/exa/cortex_pb.ts";
import type { Backend, Prompt, ResumePoint, RunOptions } from "../backend.ts";
import type { ServerSource } from "../current-server.ts";
import type { CascadeSettings } from "./follower.ts";
import { runCascade } from "./run.ts";
import { stepsFollower } from "./steps-follower.ts";
import { transcriptFollower } from "./transcript-follower.ts";

/**
 * The 2.x way: a trajectory per turn, followed by polling. By typed steps where the server answers them, by the transcript
 * otherwise; which one, the capabilities of the build say. A turn whose IDE is updated meanwhile goes on by the other way if the new
 * build lacks its own.
 */
export function cascadeBackend(
  source: ServerSource,
  server: LanguageServer,
  capabilities: Capabilities,
  settings: CascadeSettings,
): Backend {
  const ways = [stepsFollower, transcriptFollower] as const;
  const [follower, otherwise] = capabilities.steps ? ways : [ways[1], ways[0]];
  const parts = { follower, otherwise, source, server, settings };
  const run = (prompt: Prompt, from: ResumePoint | undefined, options: RunOptions, signal: AbortSignal) =>
    runCascade(parts, { prompt, from, options }, signal);
  return {
    kind: "cascade",
    run: (prompt, options, signal) => run(prompt, undefined, options, signal),
    resume: run,
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
