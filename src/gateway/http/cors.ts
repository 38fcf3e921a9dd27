import { answerInfos } from "../routes/route-headers.ts";
import type { Reply } from "./reply.ts";

const methods = "GET, POST, DELETE, OPTIONS";
const exposed = ["request-id", ...answerInfos.map(({ name }) => name)].join(", ");

/** The headers that let a page of an allowed origin read an answer; empty for other origins. Never a wildcard. */
export function corsHeaders(origin: string | null): Readonly<Record<string, string>> {
  if (origin === null) return {};
  return { "access-control-allow-origin": origin, "access-control-expose-headers": exposed, vary: "origin" };
}

/**
 * The answer to a preflight whose origin the guard let pass. Requested headers are echoed (the SDKs send a dozen
 * `x-stainless-*`), each checked to be a header name. Source: docs/wire/clients.md, "HTTP and model lists".
 */
export function preflight(headers: Headers): Reply {
  const origin = headers.get("origin");
  if (origin === null) return { status: 204, headers: { allow: methods } };
  const asked = (headers.get("access-control-request-headers") ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase());
  const names = asked.filter((name) => /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)).slice(0, 100);
  const answer: Record<string, string> = {
    ...corsHeaders(origin),
    "access-control-allow-methods": methods,
    "access-control-allow-headers": names.join(", "),
    "access-control-max-age": "600",
    vary: "origin, access-control-request-headers, access-control-request-private-network",
  };
  if (headers.get("access-control-request-private-network") === "true") {
    answer["access-control-allow-private-network"] = "true";
  }
  return { status: 204, headers: answer };
}
