import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import { parseKey } from "../../log/sealing/keys.ts";
import type { StreamName } from "../../log/store.ts";
import { beforeFirst, parseEventId } from "../dialects/idempotent/event-id.ts";
import { clientOf, graceMsOf, projectOf, sessionOf } from "../http/request-headers.ts";

/** An attach's request, from its headers. */
export interface AttachRequest {
  readonly name: StreamName;
  readonly intent: "create" | "resume" | "observe";
  /** Whether the client sent the intent itself. A client that knows only the original's headers cannot: it may believe that the stream exists. */
  readonly saidIntent: boolean;
  readonly cursor: string;
  /** The digest at the cursor, as the client has it. */
  readonly chain: Uint8Array | undefined;
  readonly ticket: Secret | undefined;
  readonly graceMs: number | undefined;
  readonly session: string | undefined;
  readonly client: string | undefined;
  readonly project: string | undefined;
}

const keyHeader = "x-idempotency-key";
const cursorHeader = "x-idempotency-event-id";
const encryptionHeader = "x-idempotent-encryption-key";
const intentHeader = "x-millrace-intent";
const intents = ["create", "resume", "observe"] as const;

/**
 * The headers of an attach, checked before a stream is looked up, so that a refusal does not show whether the stream exists.
 *
 * @throws MillraceError `invalid_request` with the header at fault. Source: docs/dev/wire/idempotent-streams.md, "Headers".
 */
export function parseAttach(headers: Headers, caller: string): AttachRequest {
  const cursor = parseEventId(headers.get(cursorHeader)?.trim() || beforeFirst);
  const intent = intentOf(headers, cursor);
  return {
    name: { caller, name: nameOf(headers), clientKey: encryptionKeyOf(headers) },
    intent,
    saidIntent: (headers.get(intentHeader)?.trim() ?? "") !== "",
    cursor,
    chain: bytesOf(headers, "x-millrace-chain"),
    ticket: secretOf(headers, "x-millrace-ticket"),
    graceMs: graceMsOf(headers, new URLSearchParams()),
    session: sessionOf(headers),
    client: clientOf(headers),
    project: projectOf(headers),
  };
}

function nameOf(headers: Headers): string {
  const name = headers.get(keyHeader)?.trim() ?? "";
  if (/^[\x21-\x7e]{1,128}$/.test(name)) return name;
  throw refuse(keyHeader, "1 to 128 printable characters name a stream.", "Send a fresh UUID for a new stream.");
}

/** In any form of base64, standard or URL-safe, padded or not: the original does not say which. The same bytes are the same key. */
function encryptionKeyOf(headers: Headers): Secret {
  const text = (headers.get(encryptionHeader)?.trim() ?? "").replace(/=$/, "");
  const key = new Secret(text.replaceAll("+", "-").replaceAll("/", "_"));
  try {
    parseKey(key);
  } catch (error) {
    throw refuse(
      encryptionHeader,
      "32 bytes in base64: 43 characters, or 44 with padding, of which the 43rd is one of AEIMQUYcgkosw048.",
      "`crypto.randomBytes(32).toString('base64url')` makes a good one.",
      error,
    );
  }
  return key;
}

function intentOf(headers: Headers, cursor: string): AttachRequest["intent"] {
  const text = headers.get(intentHeader)?.trim();
  if (text === undefined || text === "") return cursor === beforeFirst ? "create" : "resume";
  const intent = intents.find((known) => known === text);
  if (intent === undefined) throw refuse(intentHeader, `Not one of ${intents.join(", ")}.`);
  if (intent !== "create" || cursor === beforeFirst) return intent;
  throw refuse(intentHeader, "A stream with a cursor is not a new one.", "Resume it, or start another stream.");
}

function bytesOf(headers: Headers, name: string): Uint8Array | undefined {
  const text = secretOf(headers, name)?.reveal();
  return text === undefined ? undefined : Buffer.from(text, "base64url");
}

/** 32 bytes, base64url; undefined where the header is missing or empty. */
function secretOf(headers: Headers, name: string): Secret | undefined {
  const text = headers.get(name)?.trim();
  if (text === undefined || text === "") return undefined;
  const secret = new Secret(text);
  try {
    parseKey(secret); // the same form: 32 bytes, one spelling
  } catch (error) {
    throw refuse(name, "Not 32 bytes in base64url without padding.", undefined, error);
  }
  return secret;
}

function refuse(param: string, why: string, hint?: string, cause?: unknown): MillraceError {
  return new MillraceError("invalid_request", `${param}: ${why}`, {
    param,
    ...(hint === undefined ? {} : { hint }),
    ...(cause === undefined ? {} : { cause }),
  });
}
