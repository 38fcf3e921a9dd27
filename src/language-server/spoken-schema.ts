import { createClient, type Interceptor } from "@connectrpc/connect";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import { unreadableCalls } from "./probe/capabilities.ts";
import { statusOnlyService } from "./status-only.ts";
import type { Endpoint } from "./transport/endpoint.ts";
import { openTransport, type TransportOptions } from "./transport/open-transport.ts";

/** A service with our names and shapes and a build's numbers, and the work that it needs on each call. */
export interface SpokenSchema {
  readonly service: typeof LanguageServerService;
  readonly interceptors: readonly Interceptor[];
}

export const ourSchema: SpokenSchema = { service: LanguageServerService, interceptors: [] };

/** The connection and its clients, in the schema that the server speaks. */
export function openClients(
  endpoint: Endpoint,
  options: Pick<TransportOptions, "clock" | "checkHolder" | "readMaxBytes" | "stamp">,
  { service, interceptors }: SpokenSchema,
) {
  const open = openTransport(endpoint, { ...options, interceptors });
  return {
    client: createClient(service, open.transport),
    statusClient: createClient(statusOnlyService(service), open.transport),
    unreadable: unreadableCalls(open.transport, service),
    close: () => open.close(),
  };
}
