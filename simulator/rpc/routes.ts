import type { ServiceImpl } from "@connectrpc/connect";
import type { LanguageServerService } from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { accountRpcs, probeRpcs } from "./account.ts";
import { cascadeRpcs } from "./cascade.ts";
import type { RpcContext } from "./context.ts";
import { panelRpcs } from "./panel.ts";
import { rawGetChatMessage } from "./raw-chat.ts";
import { readingRpcs } from "./reading.ts";

/** Every RPC that the stand-in answers. Source: docs/dev/wire/cascade.md, "Calls"; docs/dev/wire/language-server.md, "Cheap calls". */
export function languageServerRpcs(context: RpcContext): Partial<ServiceImpl<typeof LanguageServerService>> {
  return {
    ...panelRpcs(context),
    ...cascadeRpcs(context),
    ...readingRpcs(context),
    ...accountRpcs(context),
    ...probeRpcs(context),
    rawGetChatMessage: (request, handler) => rawGetChatMessage(context, request, handler),
  };
}
