import type { DescMethod } from "@bufbuild/protobuf";
import { BidiService, ChatService } from "../../src/proto/aiserver/v1/chat_pb.ts";

/** The methods of the stream protocol that are attacked: one without its row fails the tests. */
const rows: ReadonlySet<string> = new Set([
  "StreamUnifiedChatWithToolsIdempotent",
  "StreamUnifiedChatWithToolsIdempotentSSE",
  "StreamUnifiedChatWithToolsIdempotentPoll",
  "BidiAppend",
]);

export interface RpcTarget {
  readonly name: string;
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

/** Every method that the protocol's services declare. @throws Error for one without its row. */
export function rpcTargets(): readonly RpcTarget[] {
  const methods: readonly DescMethod[] = [...ChatService.methods, ...BidiService.methods];
  for (const name of rows)
    if (!methods.some((method) => method.name === name)) throw new Error(`There is no method ${name}.`);
  return methods.map(({ name, parent, methodKind }) => {
    if (!rows.has(name)) throw new Error(`${name} has no row in rpc-rows.ts.`);
    const isUnary = methodKind === "unary";
    return {
      name,
      path: `/${parent.typeName}/${name}`,
      contentType: isUnary ? "application/json" : "application/connect+json",
      body: isUnary ? "{}" : "\0\0\0\0\u0002{}", // a stream's message has its length before it
    };
  });
}
