import type { Metadata } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import { rpcError } from "../faults/error-texts.ts";
import type { RpcContext } from "./context.ts";

/** Fields that a client must send beside the key in strict mode. Source: docs/dev/wire/language-server.md, "Metadata". */
const strictFields = [
  ["ideName", "string"],
  ["extensionVersion", "string"],
  ["locale", "string"],
  ["os", "string"],
  ["ideVersion", "string"],
  ["sessionId", "string"],
  ["extensionName", "string"],
  ["triggerId", "string"],
  ["planName", "string"],
  ["ideType", "string"],
] as const;

/** @throws ConnectError `api_key not set`, or the Cascade-session error when strict and a field is missing. */
export function checkMetadata(context: RpcContext, metadata: Metadata | undefined): void {
  if (metadata === undefined || metadata.apiKey === "") throw rpcError("no_key");
  context.observations.requestId(metadata.requestId);
  if (!context.config.strictMetadata) return;
  const complete =
    strictFields.every(([field]) => metadata[field] !== "") &&
    metadata.requestId !== 0n &&
    metadata.lsTimestamp !== undefined;
  if (!complete) throw rpcError("session");
}

/** @throws ConnectError `panel state not found` or `untrusted workspace`. */
export function checkPanel(context: RpcContext): void {
  if (!context.panel.initialized) throw rpcError("panel_state");
  if (context.profile.isOld && !context.panel.trusted) throw rpcError("untrusted");
}
