import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import type { Secret } from "../../base/secret.ts";
import { parseApiKey } from "../account/api-key.ts";
import type { Host } from "../host/host.ts";
import { type FoundToken, parseToken } from "./csrf-token.ts";

/** The tokens in the user's token file. */
export interface GivenTokens {
  readonly csrf: FoundToken;
  readonly apiKey: Secret | undefined;
}

const maxTokenFileBytes = 64 * 1024;
const tokenJson = z.object({ csrfToken: z.string(), apiKey: z.string().optional() });

/** @throws MillraceError `invalid_request` for a file that cannot be read or holds no token. */
export async function readTokenFile(host: Host, path: string, signal: AbortSignal): Promise<GivenTokens> {
  const text = await host.readText(path, maxTokenFileBytes, signal);
  if (text !== undefined) return parseTokenFile(text, path);
  throw new MillraceError("invalid_request", `The token file ${path} cannot be read.`, {
    hint: "MILLRACE_IDE_TOKEN_FILE must name a small text file that this user can read.",
    param: "MILLRACE_IDE_TOKEN_FILE",
  });
}

/**
 * Reads a token file: JSON `{"csrfToken": …, "apiKey": …}`, or the CSRF token on the first line and the API key on the second. The
 * second part may be missing in both.
 *
 * @throws MillraceError `invalid_request`, without any of the file's content.
 */
export function parseTokenFile(text: string, path: string): GivenTokens {
  const { csrfToken, apiKey } = tokenParts(text);
  const token = parseToken(csrfToken);
  if (token === undefined) {
    throw new MillraceError("invalid_request", `The token file ${path} holds no CSRF token.`, {
      hint: 'Put the token on its first line, or write {"csrfToken": "…", "apiKey": "…"}.',
      param: "MILLRACE_IDE_TOKEN_FILE",
    });
  }
  return { csrf: { token, source: "file" }, apiKey: parseApiKey(apiKey)?.key };
}

function tokenParts(text: string): { readonly csrfToken: string | undefined; readonly apiKey: string | undefined } {
  if (!text.trimStart().startsWith("{")) {
    const lines = text.split(/\r?\n/).map((line) => line.trim());
    return { csrfToken: lines[0], apiKey: lines[1] };
  }
  try {
    const parsed = tokenJson.safeParse(JSON.parse(text));
    return { csrfToken: parsed.data?.csrfToken, apiKey: parsed.data?.apiKey };
  } catch {
    return { csrfToken: undefined, apiKey: undefined }; // not JSON after all: the caller says what to write
  }
}
