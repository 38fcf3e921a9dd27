import { systemClock } from "../../base/clock.ts";
import { productName } from "../../language-server/product-name.ts";
import { readAccount } from "../account/api-key.ts";
import type { DiscoverOptions } from "../discover/discover-options.ts";
import type { Trace } from "../discover/trace.ts";
import type { Ide } from "../ide.ts";
import { probePorts } from "./probe-ports.ts";
import { isStandInAt } from "./stand-in.ts";
import type { GivenTokens } from "./token-file.ts";
import { isLoopbackAddress } from "./verify-holder.ts";

interface Override {
  readonly endpoint: { readonly host: string; readonly port: number };
  readonly given: GivenTokens;
}

/**
 * The server that the user named, with the token from the user's file. No process is checked: only whether a stand-in listens there is
 * looked up, so that its plan does not count as the user's own.
 */
export async function examineOverride(
  options: DiscoverOptions,
  { endpoint, given }: Override,
  trace: Trace,
  signal: AbortSignal,
): Promise<Ide | undefined> {
  const { host, overrides } = options;
  const { csrf, apiKey } = given;
  const variant = overrides.variant ?? "windsurf";
  const subject = `${endpoint.host}:${endpoint.port}`;
  trace.kept("candidates", subject, "override", "set by hand; the process behind it is not checked");
  if (!isLoopbackAddress(endpoint.host))
    trace.note("ports", subject, "override", "is not on loopback; used because it was set by hand");
  const answer = await probePorts(
    options.probe,
    {
      variant,
      ports: [endpoint],
      tokens: [csrf],
      known: { port: endpoint.port, tookMs: Number.POSITIVE_INFINITY }, // no other can be meant
      clock: options.clock ?? systemClock,
    },
    trace,
    signal,
  );
  if (answer === undefined) return undefined;
  const standIn = await isStandInAt(host, endpoint, signal);
  if (standIn) trace.note("classify", subject, "stand-in", "a stand-in; used because it was set by hand");
  const account =
    apiKey === undefined
      ? await readAccount(
          host,
          {
            platform: host.platform,
            variant,
            environment: undefined,
            userDataDir: undefined,
            homes: [...new Set([host.home, ...overrides.homes])],
            sandboxes: new Map(),
          },
          trace,
          signal,
        )
      : { apiKey, signedIn: true };
  return {
    variant,
    product: productName(variant, ""),
    id: `${variant}:${subject}`,
    pid: undefined,
    startedAtMs: undefined,
    build: "",
    endpoint: { variant, ...endpoint, tls: answer.tls, protocol: answer.protocol, csrfToken: csrf.token },
    identity: { variant, ideVersion: "", extensionVersion: "", extensionPath: "", apiKey: account.apiKey },
    capabilities: undefined,
    signedIn: account.signedIn,
    answeredInMs: answer.tookMs,
    ...(standIn ? { standIn: true } : {}),
  };
}
