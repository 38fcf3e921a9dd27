import {
  create,
  createFileRegistry,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import {
  DescriptorProtoSchema,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  MethodDescriptorProtoSchema,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";

/** The two calls that may not be made for a look: one leaves a conversation behind, the other is a prompt. */
export interface UnreadableCalls {
  startCascade(signal: AbortSignal, timeoutMs: number): Promise<unknown>;
  rawGetChatMessage(signal: AbortSignal, timeoutMs: number): Promise<unknown>;
}

/**
 * Asks for calls with a request that cannot be read: its `metadata`, a message, holds a cut-off field. A server that has the
 * call fails to parse it and never runs it; one that does not has no such path. Nothing is started and no prompt is sent.
 * It shows that the path is there, not that the server would do it: a 2.x build has raw chat and refuses it from outside.
 */
export function unreadableCalls(transport: Transport): UnreadableCalls {
  const { startCascade, rawGetChatMessage } = unreadableMethods();
  return {
    startCascade: (signal, timeoutMs) => transport.unary(startCascade, signal, timeoutMs, undefined, unreadable),
    async rawGetChatMessage(signal, timeoutMs) {
      const requests = createAsyncIterable([unreadable]);
      const response = await transport.stream(rawGetChatMessage, signal, timeoutMs, undefined, requests);
      for await (const _ of response.message) return;
    },
  };
}

/** Tag of field 15 as varint, without the varint: no parser takes it for a message. As JSON it is a string for an object. */
const unreadable = { metadata: "x" } as MessageInitShape<DescMethodUnary["input"]>; // checked against the descriptor when sent

function unreadableMethods() {
  const package_ = LanguageServerService.file.proto.package;
  const request = `.${package_}.Unreadable`;
  const file = create(FileDescriptorProtoSchema, {
    name: "unreadable.proto",
    package: package_,
    syntax: "proto3",
    messageType: [
      create(DescriptorProtoSchema, {
        name: "Unreadable",
        field: [
          create(FieldDescriptorProtoSchema, {
            name: "metadata",
            jsonName: "metadata",
            number: 1,
            type: FieldDescriptorProto_Type.STRING,
          }),
        ],
      }),
    ],
    service: [
      create(ServiceDescriptorProtoSchema, {
        name: LanguageServerService.name,
        method: [
          create(MethodDescriptorProtoSchema, { name: "StartCascade", inputType: request, outputType: request }),
          create(MethodDescriptorProtoSchema, {
            name: "RawGetChatMessage",
            inputType: request,
            outputType: request,
            serverStreaming: true,
          }),
        ],
      }),
    ],
  });
  const methods = createFileRegistry(file, () => undefined).getService(LanguageServerService.typeName)?.methods ?? [];
  return {
    startCascade: methods[0] as DescMethodUnary, // as declared above
    rawGetChatMessage: methods[1] as DescMethodServerStreaming, // as declared above
  };
}
