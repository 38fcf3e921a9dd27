import { deadline } from "../../../base/async.ts";
import { isMillraceError } from "../../../base/errors.ts";
import type { ModelUid } from "../../../base/ids.ts";
import type { Ide, IdeFinder } from "../../../ide/ide.ts";
import { upstreamReason } from "../../../language-server/errors/errors.ts";
import type { LanguageServer } from "../../../language-server/language-server.ts";
import { probePort } from "../../../language-server/probe/probe.ts";
import { isWithoutCascade } from "../../../language-server/product-name.ts";

/** What was seen of one thing, as a value and in a few words; or why it could not be seen. No secret, no name of an account. */
export type Fact = { readonly value: unknown; readonly seen: string } | { readonly why: string };
export type Facts = Readonly<Record<string, Fact>>;

/** The answer to a call, or the reason why there is none. */
type CallResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: string; readonly reason: unknown };

const callLimitMs = 20_000;
/** A call that did not get through is no evidence; a refused one is. */
const silent: ReadonlySet<unknown> = new Set([undefined, "connection_refused", "connection_lost", "unavailable"]);

/** Asks a language server, one call after the other. The calls start nothing. `names`: of the account. Throws only the signal's reason. */
export async function observeServer(
  finder: IdeFinder,
  ide: Ide,
  signal: AbortSignal,
): Promise<{ readonly facts: Facts; readonly names: readonly string[] }> {
  const limited = () => deadline(signal, callLimitMs);
  const connected = await called(() => finder.connect(ide, limited()), signal);
  const ask = <T>(call: (server: LanguageServer) => Promise<T>): Promise<CallResult<T>> | CallResult<T> =>
    connected.ok ? called(() => call(connected.value), signal) : connected;
  const status = await ask((server) => server.getUserStatus(limited()));
  const listed = status.ok ? (status.value.cascadeModelConfigData?.clientModelConfigs ?? []) : [];
  const model = (listed.find(({ disabled }) => !disabled)?.modelUid ?? "") as ModelUid; // this is where they come from
  const probe = await ask(() => probePort({ ...ide.endpoint }, limited()));
  const ping = await ask((server) => server.ping(limited()));
  const limit = await ask((server) => server.messageLimit(model, limited()));
  const capabilities = await ask((server) => server.capabilities(limited())); // with requests that it cannot read, so it runs none
  const has = (call: "steps" | "transcript") =>
    fact(capabilities, ({ cascade, ...calls }) =>
      cascade
        ? { value: calls[call], seen: calls[call] ? "the call is there" : "the call is missing" }
        : { why: "Cascade is gone here" },
    );
  const facts: Facts = {
    "server.probe": fact(probe, (port) =>
      !port.ok
        ? { value: false, seen: port.why }
        : port.unsure === true
          ? { value: false, seen: `${port.protocol}, with an error as its answer` }
          : { value: true, seen: `${port.protocol} ${port.tls ? "with" : "without"} TLS` },
    ),
    "server.metadata": refusable(ping, "GetUnleashData answers"),
    "server.user-status": refusable(status, "decoded"),
    "server.models": fact(status, () => ({ value: listed.length, seen: `${listed.length} models` })),
    "server.plan": fact(status, ({ planStatus }) => {
      const name = planStatus?.planInfo?.planName ?? "";
      return { value: name, seen: name || "no name of a plan" };
    }),
    "server.limits": fact(limit, (told) => {
      if (told === undefined) return { value: false, seen: "both calls are missing, or say nothing" };
      const left =
        told.messagesRemaining === undefined ? "no count of messages" : `${told.messagesRemaining} messages left`;
      return { value: true, seen: `${told.hasCapacity ? "may be asked" : "refused now"}, ${left}` };
    }),
    "server.cascade": fact(capabilities, ({ cascade }) => {
      const seen = `the path is ${cascade ? "there" : "missing"} in build ${ide.build || "of unknown number"}`;
      if (ide.build === "") return { why: seen };
      const isGone = isWithoutCascade(ide.build);
      // A server that has the path may still refuse every call: only a real one would show it.
      return cascade && isGone ? { why: `${seen}; nothing was started` } : { value: cascade !== isGone, seen };
    }),
    "server.steps": has("steps"),
    "server.transcript": has("transcript"),
  };
  return { facts, names: status.ok ? [status.value.name, status.value.email].filter((text) => text !== "") : [] };
}

function fact<T>(call: CallResult<T>, read: (value: T) => Fact): Fact {
  return call.ok ? read(call.value) : { why: call.why };
}

function refusable(call: CallResult<unknown>, seen: string): Fact {
  if (call.ok) return { value: true, seen };
  return silent.has(call.reason) ? { why: call.why } : { value: false, seen: call.why };
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
