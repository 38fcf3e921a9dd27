import { deadline } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import { SharedCall } from "../../base/shared-call.ts";
import { translateError } from "../errors/errors.ts";
import type { LanguageServer, RawChat, SendMessage } from "../language-server.ts";
import { type LanguageServerOptions, openLanguageServer, type SpokenSchema } from "../open-language-server.ts";
import type { Endpoint, IdeIdentity } from "../transport/endpoint.ts";

export interface SpokenOptions extends Omit<LanguageServerOptions, "spoken"> {
  /** Reads the schema that the build speaks; undefined if it is unknown. Called once, before the first call. */
  readonly readSpoken: (signal: AbortSignal) => Promise<SpokenSchema | undefined>;
  /** Called when the schema could not be read: our own numbers are used then. */
  readonly onUnread: (error: unknown) => void;
  /** How long reading may keep the first call waiting, in ms. */
  readonly readMs?: number;
}

/**
 * A client of one server that reads the build's schema before its first call. If the schema cannot be read, our own numbers are used,
 * which are those of every build known so far.
 */
export function openSpokenLanguageServer(
  endpoint: Endpoint,
  identity: IdeIdentity,
  options: SpokenOptions,
): LanguageServer {
  const { readSpoken, onUnread, readMs = 30_000, ...rest } = options;
  const opening = new SharedCall<LanguageServer>();
  let opened: LanguageServer | undefined;
  let isClosed = false;

  async function open(signal: AbortSignal): Promise<LanguageServer> {
    const spoken = await readSpoken(deadline(signal, readMs)).catch((error: unknown) => {
      signal.throwIfAborted(); // all callers have left: the next one probes again
      onUnread(error);
      return undefined;
    });
    if (isClosed) throw new MillraceError("cancelled", "The connection to the IDE's server has been closed.");
    opened ??= openLanguageServer(endpoint, identity, spoken === undefined ? rest : { ...rest, spoken });
    return opened;
  }
  const server = async (signal: AbortSignal) => {
    if (opened !== undefined) return opened;
    try {
      return await opening.join(open, signal);
    } catch (error) {
      throw translateError(error, { nowMs: rest.clock.now(), secrets: [] }, signal);
    }
  };

  return {
    endpoint,
    get cascadeDenied() {
      return opened?.cascadeDenied;
    },
    ensurePanelState: async (how, signal) => (await server(signal)).ensurePanelState(how, signal),
    startCascade: async (signal) => (await server(signal)).startCascade(signal),
    sendUserMessage: async (message: SendMessage, signal) => (await server(signal)).sendUserMessage(message, signal),
    getSteps: async (id: CascadeId, offset, signal) => (await server(signal)).getSteps(id, offset, signal),
    getStatus: async (id, signal) => (await server(signal)).getStatus(id, signal),
    getTranscript: async (id, offset, signal) => (await server(signal)).getTranscript(id, offset, signal),
    getGeneratorMetadata: async (id, offset, signal) => (await server(signal)).getGeneratorMetadata(id, offset, signal),
    cancel: async (id, signal) => (await server(signal)).cancel(id, signal),
    archive: async (id, signal) => (await server(signal)).archive(id, signal),
    getUserStatus: async (signal) => (await server(signal)).getUserStatus(signal),
    messageLimit: async (model, signal) => (await server(signal)).messageLimit(model, signal),
    ping: async (signal) => (await server(signal)).ping(signal),
    async *rawChat(chat: RawChat, signal) {
      yield* (await server(signal)).rawChat(chat, signal);
    },
    capabilities: async (signal) => (await server(signal)).capabilities(signal),
    close() {
      isClosed = true;
      opened?.close();
    },
  };
}
