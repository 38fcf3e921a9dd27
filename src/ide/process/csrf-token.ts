import { Secret } from "../../base/secret.ts";
import type { ServerEnvironment } from "../host/host.ts";
import { type Flags, lastFlag } from "./command-line.ts";

/** A CSRF token and where it was found. */
export interface FoundToken {
  readonly token: Secret;
  readonly source: "environment" | "argument" | "cache" | "file";
}

/** Each source as a trace names it. */
export const tokenSources: Readonly<Record<FoundToken["source"], string>> = {
  environment: "its environment",
  argument: "its arguments",
  cache: "the last time that it answered",
  file: "the token file",
};

const variable = "WINDSURF_CSRF_TOKEN";
const maxLength = 512;

/**
 * Every token that a process may take, likeliest first: its environment (1.9577 and later), its `--csrf_token` (before),
 * the one that worked last time for this very process. Flags are looked up by their whole name, so that
 * `--extension_server_csrf_token`, which opens another server, is never taken. Source: docs/dev/wire/processes.md, "Arguments".
 */
export function csrfTokens(
  environment: ServerEnvironment | undefined,
  flags: Flags,
  lastGood: Secret | undefined,
): readonly FoundToken[] {
  const found: FoundToken[] = [];
  const add = (token: Secret | undefined, source: FoundToken["source"]) => {
    if (token !== undefined && !found.some((other) => other.token.equals(token))) found.push({ token, source });
  };
  add(parseToken(environment?.get(variable)), "environment");
  add(parseToken(lastFlag(flags, "csrf_token")), "argument");
  add(lastGood, "cache");
  return found;
}

/** A token that can travel in a header: printable ASCII without blanks. */
export function parseToken(text: string | undefined): Secret | undefined {
  if (text === undefined || text.length > maxLength || !/^[\x21-\x7e]+$/.test(text)) return undefined;
  return new Secret(text);
}
