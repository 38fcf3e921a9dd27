import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { LanguageServerService } from "../../proto/windsurf/exa/language_server_pb.ts";
import type { FakeMethods, RpcServer } from "../rpc-server.fake.ts";
import type { Endpoint } from "./endpoint.ts";
import { openTransport, type TransportOptions } from "./open-transport.ts";

/** One way to a server. `start` gives every case a new server. */
export interface TransportHarness {
  start(methods: FakeMethods): Promise<RpcServer>;
  endpoint(server: RpcServer): Endpoint;
  /** How the requests announce themselves. */
  readonly contentType: RegExp;
}

export const context = { nowMs: 0, secrets: [] };

/** Makes `withClient`, which calls `use` with a client of a new server and closes the client's connections afterwards. */
export function clientsOf(harness: TransportHarness) {
  return async function withClient<T>(
    methods: FakeMethods,
    use: (client: Client<typeof LanguageServerService>, server: RpcServer) => Promise<T>,
    options: TransportOptions & { readonly endpoint?: Partial<Endpoint> } = {},
  ): Promise<T> {
    await using server = await harness.start(methods);
    const open = openTransport({ ...harness.endpoint(server), ...options.endpoint }, options);
    try {
      return await use(clientOf(open.transport), server);
    } finally {
      open.close();
    }
  };
}

export function clientOf(transport: Transport): Client<typeof LanguageServerService> {
  return createClient(LanguageServerService, transport);
}

export async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

export async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("expected a failure");
}

export function hang(signal: AbortSignal, onAbort: () => void = () => {}): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => {
      onAbort();
      reject(new ConnectError("gone", Code.Canceled));
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
