import {
  create,
  createFileRegistry,
  type DescMethod,
  type DescMethodUnary,
  fromJson,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, file_google_protobuf_struct, StructSchema } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { translateError, upstreamReason } from "../language-server/errors/errors.ts";
import type { Endpoint } from "../language-server/transport/endpoint.ts";
import { openTransport } from "../language-server/transport/open-transport.ts";

/** Antigravity's answers, as JSON; undefined for a call that this build lacks. */
export interface AntigravityPlan {
  readonly userStatus: unknown;
  readonly quotaSummary: unknown;
}

const timeoutMs = 10_000;

/**
 * Asks Antigravity's server for the plan: two reading calls, no prompt, no API key. They travel as JSON, since the
 * product's schema gives the same field numbers other meanings than Windsurf's; names hold.
 *
 * @param nowMs epoch ms, for the reset time in an error.
 * @throws MillraceError as every call of a language server does. A missing quota summary is no error: plain editors lack it.
 * Source: docs/dev/wire/account.md, "Antigravity's quota".
 */
export async function readAntigravityPlan(
  endpoint: Endpoint,
  nowMs: number,
  signal: AbortSignal,
): Promise<AntigravityPlan> {
  const connection = openTransport({ ...endpoint, protocol: "connect-json" });
  const ask = (method: DescMethodUnary) => call(connection.transport, method, { endpoint, nowMs }, signal);
  try {
    const [userStatus, quotaSummary] = await Promise.all([ask(methods.GetUserStatus), summaryOf(ask)]);
    return { userStatus, quotaSummary };
  } finally {
    connection.close();
  }
}

async function summaryOf(ask: (method: DescMethodUnary) => Promise<unknown>): Promise<unknown> {
  try {
    return await ask(methods.RetrieveUserQuotaSummary);
  } catch (error) {
    if (upstreamReason(error) === "not_implemented") return undefined;
    throw error;
  }
}

async function call(
  transport: Transport,
  method: DescMethodUnary,
  { endpoint, nowMs }: { readonly endpoint: Endpoint; readonly nowMs: number },
  signal: AbortSignal,
): Promise<unknown> {
  // Nothing that names the user; the editor's own metadata has at least these fields.
  const metadata = { ideName: "antigravity", extensionName: "antigravity", locale: "en", ideVersion: "unknown" };
  // without the flag a meter may get what the server read long ago
  const request = fromJson(StructSchema, method.name === "GetUserStatus" ? { metadata } : { forceRefresh: true });
  try {
    const { message } = await transport.unary(method, signal, timeoutMs, undefined, request);
    return toJson(StructSchema, message as typeof request); // both sides of these methods are a Struct
  } catch (error) {
    throw translateError(error, { nowMs, secrets: [endpoint.csrfToken] }, signal);
  }
}

/** The two methods, with any JSON object as request and answer. */
const methods = {
  GetUserStatus: jsonMethod("GetUserStatus"),
  RetrieveUserQuotaSummary: jsonMethod("RetrieveUserQuotaSummary"),
} as const;

function jsonMethod(name: string): DescMethodUnary {
  const struct = file_google_protobuf_struct;
  const file = create(FileDescriptorProtoSchema, {
    name: `antigravity/${name}.proto`,
    package: "exa.language_server_pb",
    syntax: "proto3",
    dependency: [struct.proto.name],
    service: [
      {
        name: "LanguageServerService",
        method: [{ name, inputType: ".google.protobuf.Struct", outputType: ".google.protobuf.Struct" }],
      },
    ],
  });
  const registry = createFileRegistry(file, (wanted) => (wanted === struct.proto.name ? struct : undefined));
  const method = registry.getService("exa.language_server_pb.LanguageServerService")?.methods[0];
  if (method === undefined || !isUnary(method)) throw new Error("a registry lost a method"); // never: it was just declared
  return method;
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}
