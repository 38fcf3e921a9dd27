import { systemClock } from "../../base/clock.ts";
import { ideName } from "../../base/ide-name.ts";
import { Secret } from "../../base/secret.ts";
import { productName } from "../../language-server/product-name.ts";
import type { IdeIdentity, IdeVariant } from "../../language-server/transport/endpoint.ts";
import { readAccount } from "../account/api-key.ts";
import { hostOf } from "../account/cli-credentials.ts";
import { stateQuestion } from "../account/state-question.ts";
import { homesOf, isOfHome, joinPath } from "../apps/layouts.ts";
import { type ExamineOptions, strangerKey } from "../discover/discover-options.ts";
import type { IdeOverrides } from "../discover/overrides.ts";
import type { Trace } from "../discover/trace.ts";
import type { Host, ServerEnvironment } from "../host/host.ts";
import type { Ide } from "../ide.ts";
import { buildOfServer } from "./build.ts";
import { isRemoteFolder } from "./classify.ts";
import { type Flags, lastFlag } from "./command-line.ts";
import { csrfTokens, type FoundToken, tokenSources } from "./csrf-token.ts";
import { listPorts } from "./ports.ts";
import { probePorts } from "./probe-ports.ts";
import type { ServerProcess } from "./server-process.ts";
import { isStandIn } from "./stand-in.ts";
import type { GivenTokens } from "./token-file.ts";

const noToken: FoundToken = { token: new Secret(""), source: "argument" };

/** Credentials, ports and probe of one server; the IDE if a port answered. */
export async function examineServer(
  options: ExamineOptions,
  server: ServerProcess,
  trace: Trace,
  signal: AbortSignal,
): Promise<Ide | undefined> {
  const { host, overrides } = options;
  const { row, variant, flags } = server;
  const subject = `pid ${row.pid}`;
  const id = `${variant}:${row.pid}:${row.startedAtMs ?? 0}`;

  const lastGood = options.lastGood.get(id);
  const environment = await host.readEnvironment(row, signal);
  if (!environment.ok) trace.note("credentials", subject, "environment", environment.why);
  const variables = environment.ok ? environment.value : undefined;
  if (overrides.onlyHome !== undefined && !isOfHome(overrides.onlyHome, host.platform, variables)) {
    trace.rejected(
      "classify",
      subject,
      "home",
      `belongs to another home than ${overrides.onlyHome}, the only one asked for`,
    );
    return undefined;
  }
  if (!isAskedFor(overrides, subject, variant, trace)) return undefined;
  if (overrides.pid !== undefined && overrides.pid !== row.pid) {
    trace.rejected("classify", subject, "pid", `only pid ${overrides.pid} was asked for`);
    return undefined;
  }
  const standIn = isStandIn(variables);
  if (standIn) trace.note("classify", subject, "stand-in", "a stand-in: used only if no real IDE runs");
  const tokens = tokensOf(server, { variables, given: options.given, lastGood: lastGood?.token }, trace);
  if (tokens.length === 0) return undefined;

  const ports = await listPorts(host, { row, flags, lastGood: lastGood?.port }, trace, signal);
  const fixed = overrides.endpoint;
  const wanted =
    fixed === undefined ? ports : ports.filter((port) => port.host === fixed.host && port.port === fixed.port);
  if (fixed !== undefined && wanted.length === 0) {
    trace.rejected("ports", subject, "override", `does not hold ${fixed.host}:${fixed.port}, which was asked for`);
  }
  const asked = wanted.filter((port) => {
    const isStranger = options.strangers?.has(strangerKey(id, port)) === true;
    if (isStranger)
      trace.rejected(
        "ports",
        `port ${port.port}`,
        "stranger",
        "passed the probe, then answered as no language server does",
      );
    return !isStranger;
  });
  const answer = await probePorts(
    options.probe,
    {
      variant,
      ports: asked,
      tokens,
      known: lastGood,
      isLast: options.isLast === true,
      clock: options.clock ?? systemClock,
    },
    trace,
    signal,
  );
  if (answer === undefined) return undefined;

  const account =
    options.given?.apiKey === undefined
      ? await readAccount(host, await stateQuestion(options, server, variables, signal), trace, signal)
      : { apiKey: options.given.apiKey, signedIn: true, file: undefined };
  const build = await buildOfServer(host, { program: row.command.program, flags, environment: variables }, signal);
  const apiServer = hostOf(lastFlag(flags, "api_server_url"));
  const identity: IdeIdentity = { variant, ...build, apiKey: account.apiKey };
  return {
    variant,
    product: productName(variant, build.ideVersion),
    id,
    pid: row.pid,
    startedAtMs: row.startedAtMs,
    build: build.ideVersion,
    endpoint: {
      variant,
      host: answer.host,
      port: answer.port,
      tls: answer.tls,
      protocol: answer.protocol,
      csrfToken: answer.token,
    },
    identity,
    capabilities: undefined,
    signedIn: account.signedIn,
    answeredInMs: answer.tookMs,
    ...(standIn ? { standIn: true } : {}),
    ...(isRemoteFolder(row.command.program) ? { isRemote: true } : {}),
    ...(apiServer === undefined ? {} : { apiServer }),
    ...(account.file === undefined ? {} : { stateFile: account.file }),
    ...codeiumFolder(host, variables, flags),
  };
}

/** Whether the product is the one that the user named, if any. */
export function isAskedFor({ variant }: IdeOverrides, subject: string, found: IdeVariant, trace: Trace): boolean {
  if (variant === undefined || variant === found) return true;
  trace.rejected("classify", subject, "variant", `${ideName(found)}, but only ${ideName(variant)} was asked for`);
  return false;
}

/** Where a token may be, beside the command line. */
interface TokenPlaces {
  readonly variables: ServerEnvironment | undefined;
  readonly given: GivenTokens | undefined;
  readonly lastGood: Secret | undefined;
}

function tokensOf(
  { row, variant, flags }: ServerProcess,
  { variables, given, lastGood }: TokenPlaces,
  trace: Trace,
): readonly FoundToken[] {
  const subject = `pid ${row.pid}`;
  const found = [...(given === undefined ? [] : [given.csrf]), ...csrfTokens(variables, flags, lastGood)];
  for (const { source } of found)
    trace.kept("credentials", subject, `csrf-${source}`, `CSRF token from ${tokenSources[source]}`);
  if (found.length > 0) return found;
  if (variant === "antigravity") {
    trace.note(
      "credentials",
      subject,
      "csrf-none",
      "names no CSRF token; its command-line tool takes calls without one",
    );
    return [noToken];
  }
  const why = "no CSRF token: neither WINDSURF_CSRF_TOKEN in its environment nor --csrf_token";
  trace.rejected(
    "credentials",
    subject,
    "csrf-none",
    variables === undefined ? `${why}, and its environment cannot be read` : why,
  );
  return [];
}

/** `--codeium_dir` is relative to the home that the server runs in. */
function codeiumFolder(
  host: Host,
  environment: ServerEnvironment | undefined,
  flags: Flags,
): { readonly codeiumFolder?: string } {
  const named = lastFlag(flags, "codeium_dir");
  const [home] = homesOf(host.platform, environment, [host.home]);
  if (named === undefined || named === "" || home === undefined) return {};
  const parts = named.split(/[\\/]/);
  const isAbsolute = parts[0] === "" || /^[A-Za-z]:$/.test(parts[0] ?? "");
  return parts.includes("..") ? {} : { codeiumFolder: isAbsolute ? named : joinPath(home, ...parts) };
}
