import { createClient } from "@connectrpc/connect";
import type { CascadeId } from "../base/ids.ts";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import { translateError } from "./errors/errors.ts";
import type { Endpoint } from "./transport/endpoint.ts";
import { openTransport } from "./transport/open-transport.ts";

const limitMs = 10_000;

/**
 * Deletes conversations with their files, through the server that has them open. They cannot be restored, so the caller must make sure
 * that Millrace began them. Returns those that were deleted or did not exist.
 *
 * @throws MillraceError the server's error, as for any call. Source: docs/dev/wire/cascade.md, "Calls".
 */
export async function deleteCascades(
  endpoint: Endpoint,
  cascadeIds: readonly CascadeId[],
  options: { readonly nowMs: number },
  signal: AbortSignal,
): Promise<void> {
  const opened = openTransport(endpoint);
  try {
    const client = createClient(LanguageServerService, opened.transport);
    for (const cascadeId of cascadeIds) {
      await client.deleteCascadeTrajectory({ cascadeId }, { signal, timeoutMs: limitMs });
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw translateError(error, { nowMs: options.nowMs, secrets: [endpoint.csrfToken] });
  } finally {
    opened.close();
  }
}
