import {
  clone,
  createFileRegistry,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
} from "@bufbuild/protobuf";
import { type DescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { file_aiserver_v1_chat } from "../../src/proto/aiserver/v1/chat_pb.ts";

/** Fields from here on are Millrace's own. */
const firstOwnField = 1000;

const original = clone(FileDescriptorProtoSchema, file_aiserver_v1_chat.proto);
for (const message of original.messageType) strip(message);
const registry = createFileRegistry(original, () => undefined);

function strip(message: DescriptorProto): void {
  message.field = message.field.filter(({ number }) => number < firstOwnField);
  for (const nested of message.nestedType) strip(nested);
}

/** A message as the protocol was first published: what Millrace adds is an unknown field of it. */
export function originalMessage(name: string): DescMessage {
  const message = registry.getMessage(`${original.package}.${name}`);
  if (message === undefined) throw new Error(`there is no message ${name}`);
  return message;
}

/** A method over such messages that streams its answer. */
export function originalStream(name: string): DescMethodStreaming {
  const method = methodOf("ChatService", name);
  if (method.methodKind === "unary") throw new Error(`${name} does not stream`);
  return method as DescMethodStreaming; // every other kind streams
}

/** A method over such messages that has one answer. */
export function originalUnary(service: string, name: string): DescMethodUnary {
  const method = methodOf(service, name);
  if (method.methodKind !== "unary") throw new Error(`${name} streams`);
  return method as DescMethodUnary; // it says so
}

function methodOf(service: string, name: string): DescMethod {
  const method = registry.getService(`${original.package}.${service}`)?.methods.find((known) => known.name === name);
  if (method === undefined) throw new Error(`there is no method ${service}.${name}`);
  return method;
}
