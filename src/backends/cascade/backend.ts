import type { CascadeId } from "../../base/ids.ts";
import type { Capabilities, LanguageServer } from "../../language-server/language-server.ts";
import type { Backend, Prompt, ResumePoint, RunOptions } from "../backend.ts";
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
      capabilities.steps
        ? runCascade(stepsFollower, parts, prompt, options, signal)
        : runCascade(transcriptFollower, parts, prompt, options, signal),
    resume: (prompt: Prompt, from: ResumePoint, options: RunOptions, signal: AbortSignal) =>
      capabilities.steps
        ? resumeCascade(stepsFollower, parts, prompt, from, options, signal)
        : resumeCascade(transcriptFollower, parts, prompt, from, options, signal),
    archive: (cascadeId: CascadeId, signal: AbortSignal) => server.archive(cascadeId, signal),
  };
}
