import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { LanguageServerService } from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { errorTexts, rpcError } from "../faults/error-texts.ts";
import { checkMetadata } from "./checks.ts";
import type { RpcContext } from "./context.ts";

/** Account, models, limits. Source: docs/dev/wire/account.md, "User status"; docs/dev/wire/language-server.md, "Cheap calls". */
export function accountRpcs(context: RpcContext) {
  return {
    getUserStatus(request) {
      checkMetadata(context, request.metadata);
      if (!context.account.signedIn) throw rpcError("user_status");
      const userStatus = context.account.status(context.clock.now());
      const planInfo = userStatus.planStatus?.planInfo;
      return { userStatus, ...(planInfo === undefined ? {} : { planInfo }) };
    },
    checkUserMessageRateLimit({ modelUid }) {
      const { plan } = context.account;
      const nowMs = context.clock.now();
      const usedUp = plan.refusal(nowMs);
      if (usedUp === undefined) return plan.messages?.answer(modelUid, nowMs) ?? { hasCapacity: true };
      const resetsInSeconds = BigInt(Math.ceil(plan.resetsInMs(nowMs) / 1000));
      return { hasCapacity: false, message: errorTexts(usedUp).text, resetsInSeconds };
    },
    checkChatCapacity: () => ({ hasCapacity: true, activeSessions: 1 }),
  } satisfies Partial<ServiceImpl<typeof LanguageServerService>>;
}

/** The cheap calls that prove a server is there; they take any metadata. Source: docs/dev/wire/language-server.md, "Cheap calls". */
export function probeRpcs(context: RpcContext) {
  return {
    getUnleashData: (request) => ({
      context: {
        userId: "simulator",
        sessionId: request.metadata?.sessionId ?? "",
        properties: request.properties,
      },
    }),
    heartbeat: () => ({ lastExtensionHeartbeat: timestampFromMs(context.clock.now()) }),
    getStatus: () => ({ status: { level: 1, message: "OK" } }),
  } satisfies Partial<ServiceImpl<typeof LanguageServerService>>;
}
