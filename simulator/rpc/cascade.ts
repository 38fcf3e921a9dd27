import type { ServiceImpl } from "@connectrpc/connect";
import type { LanguageServerService } from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { checkMetadata, checkPanel } from "./checks.ts";
import type { RpcContext } from "./context.ts";
import { acceptMessage } from "./send.ts";

/** The calls that change a conversation. Source: docs/dev/wire/cascade.md, "Calls", "Several messages", "Cancelling". */
export function cascadeRpcs(context: RpcContext) {
  const { cascades } = context;
  return {
    async startCascade(request) {
      checkMetadata(context, request.metadata);
      checkPanel(context);
      const base = request.baseTrajectoryIdentifier?.identifier;
      const shown = cascades.all().at(-1);
      if (base?.case === "lastActiveDoc" && base.value && shown !== undefined) return { cascadeId: shown.cascadeId };
      if (base?.case === "cascadeId") return { cascadeId: cascades.get(base.value).cascadeId };
      const trajectory = await cascades.start(request.source, request.trajectoryType);
      return { cascadeId: trajectory.cascadeId };
    },
    sendUserCascadeMessage(request) {
      acceptMessage(context, request);
      return {};
    },
    cancelCascadeInvocation(request) {
      cascades.cancel(request.cascadeId);
      return {};
    },
    async archiveCascadeTrajectory(request) {
      await cascades.archive(request.cascadeId, request.isArchived);
      return {};
    },
    async deleteCascadeTrajectory(request) {
      await cascades.delete(request.cascadeId);
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof LanguageServerService>>;
}
