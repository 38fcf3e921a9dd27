import type { ServiceImpl } from "@connectrpc/connect";
import type { LanguageServerService } from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { renderTranscript } from "../trajectory/transcript.ts";
import type { RpcContext } from "./context.ts";

/**
 * The calls that poll a conversation. They need no panel state and no key.
 * Source: docs/dev/wire/cascade.md, "Calls", "Several messages".
 */
export function readingRpcs(context: RpcContext) {
  const { cascades } = context;
  return {
    getCascadeTrajectory(request) {
      const trajectory = cascades.get(request.cascadeId);
      return {
        trajectory: trajectory.toMessage(),
        status: trajectory.polledStatus(),
        numTotalSteps: trajectory.steps.length,
        numTotalGeneratorMetadata: trajectory.generatorMetadata.length,
      };
    },
    getCascadeTrajectorySteps(request) {
      return { steps: cascades.get(request.cascadeId).steps.slice(request.stepOffset) };
    },
    getCascadeTrajectoryGeneratorMetadata(request) {
      const { generatorMetadata } = cascades.get(request.cascadeId);
      return { generatorMetadata: generatorMetadata.slice(request.generatorMetadataOffset) };
    },
    getCascadeTranscriptForTrajectoryId(request) {
      const trajectory = cascades.get(request.cascadeId);
      return {
        transcript: renderTranscript(trajectory.steps, {
          offset: request.stepOffset,
          quirks: trajectory.transcriptQuirks,
        }),
        numTotalSteps: trajectory.steps.length,
      };
    },
  } satisfies Partial<ServiceImpl<typeof LanguageServerService>>;
}
