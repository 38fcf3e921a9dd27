import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";

/** The address for spans, and the headers for a receiver that asks for a key. */
export interface OtlpReceiver {
  /** Without `/v1/traces`. */
  readonly endpoint: string;
  readonly headers: readonly (readonly [name: string, value: Secret])[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** OpenTelemetry's own variables count only where the user asks for them: they may belong to another program's receiver. */
const fromEnvironment = "env";
/** Headers that the request sets itself. */
const own = new Set(["content-type", "content-length", "host", "connection", "transfer-encoding"]);

/** The receiver that `--otlp-endpoint` means; undefined where nothing is to be sent. Throws `invalid_request`. */
export function otlpReceiver(wanted: string | undefined, env: Environment): OtlpReceiver | undefined {
  const address = wanted === fromEnvironment ? env["OTEL_EXPORTER_OTLP_ENDPOINT"] : wanted;
  if (address === undefined || address === "") return undefined;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new MillraceError("invalid_request", `The OTLP endpoint ${JSON.stringify(address)} is not an http address.`, {
      hint: "Give the address of a receiver for OTLP over HTTP, such as http://127.0.0.1:4318.",
    });
  if (url.username !== "" || url.password !== "")
    throw new MillraceError("invalid_request", "The OTLP endpoint must hold no user name and no password.", {
      hint: "Send them in a header: MILLRACE_OTLP_HEADERS='authorization=Basic%20…'.",
    });
  const [variable, text] =
    env["MILLRACE_OTLP_HEADERS"] === undefined && wanted === fromEnvironment
      ? ["OTEL_EXPORTER_OTLP_HEADERS", env["OTEL_EXPORTER_OTLP_HEADERS"]]
      : ["MILLRACE_OTLP_HEADERS", env["MILLRACE_OTLP_HEADERS"]];
  return { endpoint: address, headers: readHeaders(variable, text ?? "") };
}

/** `name=value` pairs, separated by commas; a value may be percent-encoded. Source: docs/wire/telemetry.md, "Headers". */
function readHeaders(variable: string, text: string): OtlpReceiver["headers"] {
  const pairs = text.split(",").map((pair) => pair.trim());
  return pairs
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [, name = "", value = ""] = /^([^=]+)=(.*)$/.exec(pair) ?? [];
      const header = readHeader(name.trim().toLowerCase(), value.trim());
      if (header !== undefined) return header;
      // The text is a secret: the error names the pair by its number, and shows none of the text.
      const nth = pairs.indexOf(pair) + 1;
      throw new MillraceError("invalid_request", `Pair ${nth} of ${variable} is not a header that can be sent.`, {
        hint: "Write name=value pairs with commas between them. Percent-encode the values: a space is %20, a comma %2C.",
      });
    });
}

function readHeader(name: string, encoded: string): readonly [name: string, value: Secret] | undefined {
  if (own.has(name)) return undefined;
  try {
    const value = decodeURIComponent(encoded);
    new Headers().append(name, value);
    return [name, new Secret(value)];
  } catch {
    return undefined; // the error would show the value
  }
}
