import {
  create,
  type DescMessage,
  type DescService,
  type FileRegistry,
  fromJson,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { LanguageServerService } from "../../src/proto/windsurf/exa/language_server_pb.ts";

/** A handler as the router calls it, for any method: one message in; a message, a promise or a stream of them out. */
type Handler = (request: Message, context: HandlerContext) => unknown;

/**
 * Serves the language server's RPCs in another schema of the same names: a request is read in that schema, handed on by
 * the names of its fields, and its answer written in that schema again.
 */
export function speakShifted(
  router: ConnectRouter,
  schema: FileRegistry,
  rpcs: Partial<ServiceImpl<typeof LanguageServerService>>,
): void {
  const service = schema.getService(LanguageServerService.typeName);
  if (service === undefined) throw new Error("the shifted schema lost the service"); // it was made from the one that has it
  const handlers = rpcs as unknown as Readonly<Record<string, Handler>>; // no method takes a stream
  const shifted: Record<string, Handler> = {};
  for (const method of LanguageServerService.methods) {
    const other = service.method[method.localName];
    const handler = handlers[method.localName];
    if (other === undefined || handler === undefined) continue;
    const read = (request: Message) => moved(other.input, method.input, request);
    // a handler gives parts of its message, which `create` completes
    const write = (answer: unknown) =>
      moved(method.output, other.output, create(method.output, answer as Record<string, unknown>));
    shifted[method.localName] =
      method.methodKind === "unary"
        ? async (request, context) => write(await handler(read(request), context))
        : async function* (request, context) {
            for await (const answer of handler(read(request), context) as AsyncIterable<unknown>) yield write(answer);
          };
  }
  router.service(service, shifted as ServiceImpl<DescService>); // built from the methods of this very service
}

/** The same message in the other schema: matched by name, as JSON does. */
function moved(from: DescMessage, to: DescMessage, message: Message): Message {
  return fromJson(to, toJson(from, message), { ignoreUnknownFields: true });
}

/** Bytes of a message in the shifted schema. */
export function encodeShifted(schema: FileRegistry, desc: DescMessage, message: Message): Uint8Array {
  const other = schema.getMessage(desc.typeName);
  return other === undefined ? toBinary(desc, message) : toBinary(other, moved(desc, other, message));
}
