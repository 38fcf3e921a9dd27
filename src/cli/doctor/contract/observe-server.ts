import { deadline } from "../../../base/async.ts";
import { isMillraceError } from "../../../base/errors.ts";
import type { ModelUid } from "../../../base/ids.ts";
import type { Ide, IdeFinder } from "../../../ide/ide.ts";
import type { UpstreamReason } from "../../../language-server/errors/error-table.ts";
import { upstreamReason } from "../../../language-server/errors/errors.ts";
import type { Capabilities } from "../../../language-server/language-server.ts";
import type { MessageLimit } from "../../../language-server/message-limit.ts";
import { type ProbeResult, probePort } from "../../../language-server/probe/probe.ts";
import type { UserStatus } from "../../../proto/windsurf/exa/codeium_common_pb.ts";

/** The answer to a call, or the reason why there is none. */
export type CallResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: string; readonly reason: UpstreamReason | undefined };

/** The answers of one language server to calls that start nothing. */
export interface ServerObservation {
  readonly build: string;
  readonly signedIn: boolean;
  /** The empty request of the discovery. */
  readonly probe: CallResult<ProbeResult>;
  /** `GetUnleashData` with our metadata and the account's key. */
  readonly ping: CallResult<true>;
  readonly status: CallResult<UserStatus>;
  /** Both calls for the limit of a model of the account. */
  readonly limit: CallResult<MessageLimit | undefined>;
  /** Asked with requests that the server cannot read, so that it never runs them. */
  readonly capabilities: CallResult<Capabilities>;
}

const callLimitMs = 20_000;

/** Asks a server, one call after the other. Throws only the signal's reason. */
export async function observeServer(finder: IdeFinder, ide: Ide, signal: AbortSignal): Promise<ServerObservation> {
  const connected = await called(() => finder.connect(ide, deadline(signal, callLimitMs)), signal);
  const facts = { build: ide.build, signedIn: ide.signedIn };
  if (!connected.ok) {
    return {
      ...facts,
      probe: connected,
      ping: connected,
      status: connected,
      limit: connected,
      capabilities: connected,
    };
  }
  const server = connected.value;
  const limited = () => deadline(signal, callLimitMs);
  const status = await called(() => server.getUserStatus(limited()), signal);
  const listed = status.ok ? (status.value.cascadeModelConfigData?.clientModelConfigs ?? []) : [];
  const model = (listed.find(({ disabled }) => !disabled)?.modelUid ?? "") as ModelUid; // this is where they come from
  return {
    ...facts,
    probe: await called(() => probePort({ ...ide.endpoint }, limited()), signal),
    ping: await called(() => server.ping(limited()).then(() => true as const), signal),
    status,
    limit: await called(() => server.messageLimit(model, limited()), signal),
    capabilities: await called(() => server.capabilities(limited()), signal),
  };
}

async function called<T>(call: () => Promise<T>, signal: AbortSignal): Promise<CallResult<T>> {
  try {
    return { ok: true, value: await call() };
  } catch (error) {
    signal.throwIfAborted();
    const why = isMillraceError(error) ? error.message : "it did not answer in time";
    return { ok: false, why, reason: upstreamReason(error) };
  }
}
