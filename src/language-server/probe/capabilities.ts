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
import type { CallOptions, Client, Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { isMillraceError } from "../../base/errors.ts";
import type { LanguageServerService } from "../../proto/windsurf/exa/language_server_pb.ts";
import { upstreamReason } from "../errors/errors.ts";
import type { UpstreamReason } from "../errors/symptoms.ts";
import type { Capabilities } from "../language-server.ts";

/** The two calls that may not be made for a look: one leaves a conversation behind, the other is a prompt. */
export interface UnreadableCalls {
  startCascade(call: CallOptions): Promise<unknown>;
  rawGetChatMessage(call: CallOptions): Promise<unknown>;
}

/**
 * Asks for calls with a request that cannot be read: its `metadata`, a message, holds a cut-off field. A server that has the
 * call fails to parse it and never runs it; one that does not has no such path. Nothing is started and no prompt is sent.
 * It shows that the path is there, not that the server would do it: a 2.x build has raw chat and refuses it from outside.
 */
export function unreadableCalls(transport: Transport, service: typeof LanguageServerService): UnreadableCalls {
  const { startCascade, rawGetChatMessage } = unreadableMethods(service);
  return {
    startCascade: ({ signal, timeoutMs }) => transport.unary(startCascade, signal, timeoutMs, undefined, unreadable),
    async rawGetChatMessage({ signal, timeoutMs }) {
      const requests = createAsyncIterable([unreadable]);
      const response = await transport.stream(rawGetChatMessage, signal, timeoutMs, undefined, requests);
      for await (const _ of response.message) return;
    },
  };
}

/** Tag of field 15 as varint, without the varint: no parser takes it for a message. As JSON it is a string for an object. */
const unreadable = { metadata: "x" } as MessageInitShape<DescMethodUnary["input"]>; // checked against the descriptor when sent

function unreadableMethods(service: typeof LanguageServerService) {
  const { startCascade, rawGetChatMessage } = service.method;
  const methods = [startCascade, rawGetChatMessage].map((method) => {
    const number = method.input.fields.find((field) => field.name === "metadata")?.number ?? 1;
    return { name: method.name, request: `Unreadable${method.name}`, number, isStream: method.methodKind !== "unary" };
  });
  const file = create(FileDescriptorProtoSchema, {
    name: "unreadable.proto",
    package: service.file.proto.package,
    syntax: "proto3",
    messageType: methods.map(({ request, number }) =>
      create(DescriptorProtoSchema, {
        name: request,
        field: [
          create(FieldDescriptorProtoSchema, {
            name: "metadata",
            jsonName: "metadata",
            number,
            type: FieldDescriptorProto_Type.STRING,
          }),
        ],
      }),
    ),
    service: [
      create(ServiceDescriptorProtoSchema, {
        name: service.name,
        method: methods.map(({ name, request, isStream }) => {
          const type = `.${service.file.proto.package}.${request}`;
          return create(MethodDescriptorProtoSchema, {
            name,
            inputType: type,
            outputType: type,
            serverStreaming: isStream,
          });
        }),
      }),
    ],
  });
  const [start, rawChat] = createFileRegistry(file, () => undefined).getService(service.typeName)?.methods ?? [];
  return {
    startCascade: start as DescMethodUnary, // as declared above
    rawGetChatMessage: rawChat as DescMethodServerStreaming, // as declared above
  };
}

type Service = Client<typeof LanguageServerService>;

/** The calls that show what a build can do. None of them starts a conversation or sends a prompt. */
export interface CapabilityProbe {
  readonly client: Pick<Service, "getCascadeTrajectorySteps" | "getCascadeTranscriptForTrajectoryId">;
  readonly statusClient: {
    getCascadeTrajectory(request: { readonly cascadeId: string }, call: CallOptions): Promise<unknown>;
  };
  readonly unreadable: UnreadableCalls;
  /** An id that belongs to no conversation. */
  readonly newId: () => string;
  /** Makes a call that changes nothing, and repeats it where a lost connection may return. */
  readonly read: (rpc: (call: CallOptions) => Promise<unknown>, signal: AbortSignal) => Promise<unknown>;
}

/** Asks for each call once, all at the same time. Throws what a call throws that says nothing of the build. */
export async function probeCapabilities(probe: CapabilityProbe, signal: AbortSignal): Promise<Capabilities> {
  const { client, statusClient, unreadable, newId, read } = probe;
  const offers = async (rpc: (call: CallOptions) => Promise<unknown>) => {
    try {
      await read(rpc, signal);
      return true;
    } catch (error) {
      if (upstreamReason(error) === "not_implemented") return false;
      if (answersAtAll(error)) return true;
      throw error;
    }
  };
  const unused = () => ({ cascadeId: newId() });
  const [start, status, steps, transcript, rawChat] = await Promise.all([
    offers((call) => unreadable.startCascade(call)),
    offers((call) => statusClient.getCascadeTrajectory(unused(), call)),
    offers((call) => client.getCascadeTrajectorySteps(unused(), call)),
    offers((call) => client.getCascadeTranscriptForTrajectoryId(unused(), call)),
    offers((call) => unreadable.rawGetChatMessage(call)),
  ]);
  return { cascade: start && (steps || transcript), steps: steps && (status || !transcript), transcript, rawChat };
}

/** Reasons that say nothing of the call that was asked for: no connection, a wrong token. */
const provesNothing: ReadonlySet<UpstreamReason | undefined> = new Set([
  undefined,
  "connection_refused",
  "connection_lost",
  "unavailable",
  "tls_refused",
  "csrf_refused",
  "not_the_server",
] as const);

/** A refusal by the call itself proves that it is there. */
function answersAtAll(error: unknown): boolean {
  return isMillraceError(error) && error.code !== "upstream_timeout" && !provesNothing.has(upstreamReason(error));
}
