import type { CallOptions, Client } from "@connectrpc/connect";
import { isMillraceError } from "../../base/errors.ts";
import type { LanguageServerService } from "../../proto/windsurf/exa/language_server_pb.ts";
import type { UpstreamReason } from "../errors/error-table.ts";
import { upstreamReason } from "../errors/errors.ts";
import type { Capabilities } from "../language-server.ts";
import type { UnreadableCalls } from "./capabilities.ts";

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
  return { cascade: start && (steps || transcript), steps: steps && status, transcript, rawChat };
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
