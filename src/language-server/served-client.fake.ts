import { systemClock } from "../base/clock.ts";
import { isMillraceError, type MillraceError } from "../base/errors.ts";
import type { CascadeId, ModelUid } from "../base/ids.ts";
import { Secret } from "../base/secret.ts";
import type { LanguageServer, SendMessage } from "./language-server.ts";
import { createWireIds } from "./metadata.ts";
import { type LanguageServerOptions, openLanguageServer } from "./open-language-server.ts";
import { type FakeMethods, type RpcServer, startRpcServer } from "./rpc-server.fake.ts";
import type { WireProtocol } from "./transport/endpoint.ts";

export const identity = {
  variant: "windsurf",
  ideVersion: "2.2.17",
  extensionVersion: "1.48.2",
  extensionPath: "/usr/share/windsurf/resources/app/extensions/windsurf",
  apiKey: new Secret("sk-ws-01-planted"),
} as const;

export const cascadeId = "7f9f1d3e-1111-4222-8333-444455556666" as CascadeId;
export const message: SendMessage = {
  cascadeId,
  text: "Why is the sky blue?",
  instructions: "Answer in one line.",
  images: [{ mimeType: "image/png", base64: "aGk=" }],
  modelUid: "MODEL_CLAUDE_4_5_OPUS" as ModelUid,
  modelNumber: 391,
  maxOutputTokens: 4096,
};
export const never = new AbortController().signal;

export async function withServer<T>(
  methods: FakeMethods,
  use: (server: LanguageServer, rpc: RpcServer) => Promise<T>,
  options: Partial<LanguageServerOptions> & { readonly protocol?: WireProtocol; readonly missing?: "404" } = {},
): Promise<T> {
  await using rpc = await startRpcServer(methods, { missing: options.missing ?? "stub" });
  const clock = options.clock ?? systemClock;
  const server = openLanguageServer(rpc.endpoint(options.protocol ?? "grpc"), identity, {
    clock,
    ids: createWireIds(clock),
    random: () => 0,
    ...options,
  });
  try {
    return await use(server, rpc);
  } finally {
    server.close();
  }
}

export async function failureOf(work: Promise<unknown>): Promise<MillraceError> {
  try {
    await work;
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
  throw new Error("expected a failure");
}

export async function firstOf<T>(stream: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of stream) return item;
  return undefined;
}

export const panel = { initializeCascadePanelState: () => ({}) };
