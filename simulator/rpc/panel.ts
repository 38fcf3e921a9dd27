import type { ServiceImpl } from "@connectrpc/connect";
import type { LanguageServerService } from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { rpcError } from "../faults/error-texts.ts";
import { checkMetadata } from "./checks.ts";
import type { RpcContext } from "./context.ts";

/** The panel's state: without it no cascade starts. It is lost with the process. Source: docs/dev/wire/cascade.md, "Panel state". */
export function panelRpcs(context: RpcContext) {
  return {
    initializeCascadePanelState(request) {
      checkMetadata(context, request.metadata);
      if (!context.account.signedIn) throw rpcError("user_status");
      context.panel.initialized = true;
      context.panel.trusted = request.workspaceTrusted;
      return {};
    },
    updatePanelStateWithUserStatus(request) {
      checkMetadata(context, request.metadata);
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof LanguageServerService>>;
}
