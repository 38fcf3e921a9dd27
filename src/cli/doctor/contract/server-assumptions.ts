import { deadline } from "../../../base/async.ts";
import { isMillraceError } from "../../../base/errors.ts";
import type { ModelUid } from "../../../base/ids.ts";
import type { Ide, IdeFinder } from "../../../ide/ide.ts";
import type { UpstreamReason } from "../../../language-server/errors/error-table.ts";
import { upstreamReason } from "../../../language-server/errors/errors.ts";
import type { LanguageServer } from "../../../language-server/language-server.ts";
import { probePort } from "../../../language-server/probe/probe.ts";
import { isWithoutCascade } from "../../../language-server/product-name.ts";
import { type Assumption, differs, judged, type Observation, ok, unknown } from "./report.ts";

const inNewBuilds = { source: "acp.md, What became of Cascade", certainty: "not settled" } as const;

/** The assumptions about the language server of a running editor. */
export const serverAssumptions: readonly Assumption<ServerObservation>[] = [
  {
    id: "server.probe",
    sentence: "GetUnleashData or Heartbeat answers an empty request, in the form of gRPC or of Connect.",
    source: "language-server.md, Probing",
    certainty: "inferred",
    check: ({ probe }) =>
      !probe.ok
        ? unknown(probe.why)
        : !probe.value.ok
          ? differs(probe.value.why)
          : probe.value.unsure === true
            ? differs(`${probe.value.protocol}, with an error as its answer`)
            : ok(`${probe.value.protocol} ${probe.value.tls ? "with" : "without"} TLS`),
  },
  {
    id: "server.metadata",
    sentence: "The server takes Millrace's request metadata, with the key of the account.",
    source: "language-server.md, Connections",
    certainty: "inferred",
    check: ({ ping }) => ofCall(ping, () => ok("GetUnleashData answers")),
  },
  {
    id: "server.user-status",
    sentence: "GetUserStatus answers, and its answer can be decoded.",
    ...inNewBuilds,
    check: ({ status }) => ofCall(status, () => ok("decoded")),
  },
  {
    id: "server.models",
    sentence: "The user status lists the models of the account.",
    ...inNewBuilds,
    check: ({ status }) =>
      whereAnswered(status, ({ cascadeModelConfigData: data }) => {
        const count = data?.clientModelConfigs.length ?? 0;
        return judged(count > 0, `${count} models`);
      }),
  },
  {
    id: "server.plan",
    sentence: "The user status names the plan of the account.",
    ...inNewBuilds,
    check: ({ status }) =>
      whereAnswered(status, ({ planStatus }) => {
        const name = planStatus?.planInfo?.planName ?? "";
        return name === "" ? differs("no name of a plan") : ok(name);
      }),
  },
  {
    id: "server.limits",
    sentence: "CheckUserMessageRateLimit or CheckChatCapacity says whether a model may be asked.",
    source: "language-server.md, Limits",
    certainty: "several sources",
    check: ({ limit }) =>
      whereAnswered(limit, (told) => {
        if (told === undefined) return differs("both calls are missing, or say nothing");
        const { hasCapacity, messagesRemaining } = told;
        const left = messagesRemaining === undefined ? "no count of messages" : `${messagesRemaining} messages left`;
        return ok(`${hasCapacity ? "may be asked" : "refused now"}, ${left}`);
      }),
  },
  {
    id: "server.cascade",
    sentence: "StartCascade is there before build 3.9, and missing from build 3.9 on.",
    source: "devin-desktop.md, Cascade",
    certainty: "inferred",
    check: ({ build, capabilities }) =>
      whereAnswered(capabilities, ({ cascade }) => {
        const seen = `the path is ${cascade ? "there" : "missing"} in build ${build || "of unknown number"}`;
        if (build === "") return unknown(seen);
        const isGone = isWithoutCascade(build);
        // A server that has the path may still refuse every call: only a real one would show it.
        return cascade && isGone ? unknown(`${seen}; nothing was started`) : judged(cascade !== isGone, seen);
      }),
  },
  {
    id: "server.steps",
    sentence: "A build that has StartCascade returns typed steps.",
    source: "cascade.md, Kinds of steps",
    certainty: "several sources",
    check: ({ capabilities }) =>
      withCascade(capabilities, ({ steps }) => judged(steps, steps ? "the call is there" : "the call is missing")),
  },
  {
    id: "server.transcript",
    sentence: "A build that has StartCascade returns the transcript of a conversation.",
    source: "cascade.md, Transcript",
    certainty: "several sources",
    check: ({ capabilities }) =>
      withCascade(capabilities, ({ transcript }) =>
        judged(transcript, transcript ? "the call is there" : "the call is missing"),
      ),
  },
];

/** A refused call differs from the assumption; a call that did not get through is no evidence. */
function ofCall<T>(call: CallResult<T>, judge: (value: T) => Observation): Observation {
  if (call.ok) return judge(call.value);
  return silent.has(call.reason) ? unknown(call.why) : differs(call.why);
}

const silent: ReadonlySet<unknown> = new Set([undefined, "connection_refused", "connection_lost", "unavailable"]);

function whereAnswered<T>(call: CallResult<T>, judge: (value: T) => Observation): Observation {
  return call.ok ? judge(call.value) : unknown(call.why);
}

function withCascade(
  call: ServerObservation["capabilities"],
  judge: (value: { readonly steps: boolean; readonly transcript: boolean }) => Observation,
): Observation {
  return whereAnswered(call, (value) => (value.cascade ? judge(value) : unknown("Cascade is gone here")));
}

/** The answer to a call, or the reason why there is none. */
type CallResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: string; readonly reason: UpstreamReason | undefined };

/** The answers of one language server to calls that start nothing. */
type ServerObservation = Awaited<ReturnType<typeof observeServer>>;

const callLimitMs = 20_000;

/** Asks a server, one call after the other. Throws only the signal's reason. */
export async function observeServer(finder: IdeFinder, ide: Ide, signal: AbortSignal) {
  const limited = () => deadline(signal, callLimitMs);
  const connected = await called(() => finder.connect(ide, limited()), signal);
  const ask = <T>(call: (server: LanguageServer) => Promise<T>): Promise<CallResult<T>> | CallResult<T> =>
    connected.ok ? called(() => call(connected.value), signal) : connected;
  const status = await ask((server) => server.getUserStatus(limited()));
  const listed = status.ok ? (status.value.cascadeModelConfigData?.clientModelConfigs ?? []) : [];
  const model = (listed.find(({ disabled }) => !disabled)?.modelUid ?? "") as ModelUid; // this is where they come from
  return {
    build: ide.build,
    // The empty request of the discovery.
    probe: await ask(() => probePort({ ...ide.endpoint }, limited())),
    // `GetUnleashData` with our metadata and the account's key.
    ping: await ask((server) => server.ping(limited()).then(() => true as const)),
    status,
    // Both calls for the limit of a model of the account.
    limit: await ask((server) => server.messageLimit(model, limited())),
    // Asked with requests that the server cannot read, so that it never runs them.
    capabilities: await ask((server) => server.capabilities(limited())),
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
