import { MillraceError } from "../../base/errors.ts";
import { ideNames, variantOf } from "../../base/ide-name.ts";
import type { IdeVariant } from "../../language-server/transport/endpoint.ts";

/** Settings that the user fixed by hand. Every one is optional; discovery does the rest. */
export interface IdeOverrides {
  /** Ask only this address. It is off loopback only if the user named it. */
  readonly endpoint: { readonly host: string; readonly port: number } | undefined;
  /** A file with the CSRF token, and the API key if it has two lines or is JSON. */
  readonly tokenFile: string | undefined;
  /** Only this product. */
  readonly variant: IdeVariant | undefined;
  /** Homes to look in beside the user's own, for processes that do not say which is theirs. */
  readonly homes: readonly string[];
  /** Only processes that say this is their home: one of several IDEs, a stand-in beside a real one. */
  readonly onlyHome: string | undefined;
  /** Only the language server with this process id. */
  readonly pid: number | undefined;
}

export const noOverrides: IdeOverrides = {
  endpoint: undefined,
  tokenFile: undefined,
  variant: undefined,
  homes: [],
  onlyHome: undefined,
  pid: undefined,
};

/**
 * Reads the `MILLRACE_IDE_*` variables out of an environment; empty ones count as absent.
 *
 * @throws MillraceError `invalid_request` naming the variable.
 */
export function parseOverrides(environment: Readonly<Record<string, string | undefined>>): IdeOverrides {
  const value = (name: string) => environment[name]?.trim() || undefined;
  const endpoint = value("MILLRACE_IDE_ENDPOINT");
  const variant = value("MILLRACE_IDE_VARIANT");
  const homes = value("MILLRACE_IDE_HOMES");
  return {
    endpoint: endpoint === undefined ? undefined : parseEndpoint(endpoint),
    tokenFile: value("MILLRACE_IDE_TOKEN_FILE"),
    variant: variant === undefined ? undefined : parseVariant(variant),
    homes: homes === undefined ? [] : splitPaths(homes),
    onlyHome: value("MILLRACE_IDE_ONLY_HOME"),
    pid: undefined,
  };
}

/**
 * `127.0.0.1:42101`, `[::1]:42101`, `42101` (then on 127.0.0.1), with or without `http://` or `https://`.
 *
 * @throws MillraceError `invalid_request`.
 */
export function parseEndpoint(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:https?:\/\/)?(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):)?(\d{1,5})\/?$/.exec(text);
  const port = Number(match?.[2] ?? 0);
  if (match === null || port < 1 || port > 65_535) {
    throw new MillraceError("invalid_request", `"${text}" is not the address of a language server.`, {
      hint: "Write host:port, for example MILLRACE_IDE_ENDPOINT=127.0.0.1:42101.",
      param: "MILLRACE_IDE_ENDPOINT",
    });
  }
  return { host: (match[1] ?? "127.0.0.1").replace(/^\[|\]$/g, ""), port };
}

/** @throws MillraceError `invalid_request`. */
export function parseVariant(text: string): IdeVariant {
  const variant = variantOf(text);
  if (variant !== undefined) return variant;
  throw new MillraceError("invalid_request", `"${text}" is not an IDE that Millrace knows.`, {
    hint: `Write one of ${ideNames.join(", ")}.`,
    param: "MILLRACE_IDE_VARIANT",
  });
}

/** Paths separated by `:` or `;`; the colon of a Windows drive separates nothing. */
function splitPaths(text: string): readonly string[] {
  return text
    .split(/;|:(?![\\/])|(?<![;:][A-Za-z]|^[A-Za-z]):/)
    .map((path) => path.trim())
    .filter((path) => path !== "");
}
