import { createHash } from "node:crypto";
import { MillraceError } from "../../base/errors.ts";
import { writeJson } from "../../base/json.ts";
import { loopbackHosts } from "../../base/node/loopback.ts";
import { Secret } from "../../base/secret.ts";
import { Refusal } from "./refusal.ts";
import type { Reply } from "./reply.ts";
import { answerInfos } from "./route-headers.ts";

/** A listener whose requests bring no key: each of them has this one. Its policy has no other keys, and hosts with their ports. */
export interface Door {
  readonly key: () => FoundKey | undefined;
}

/** Which keys, hosts and origins are allowed. */
export interface GuardPolicy {
  /** The first one is the owner's: it sees every turn, the others only their own. */
  readonly keys: readonly { readonly name: string; readonly key: Secret }[];
  /** Lower-case host names without ports. */
  readonly hosts: ReadonlySet<string>;
  readonly origins: ReadonlySet<string>;
  /** The owner's key now, in place of the first of `keys`: its file may change while the gateway runs. */
  readonly ownerKey?: (() => Secret) | undefined;
  /** Finds a key that is not in `keys`, also one that has ended; undefined if it is unknown. `unreadable`: the list of them cannot be read. `awaited`: the run that holds it may come back yet. */
  readonly issued?: ((key: Secret) => FoundKey | "unreadable" | "awaited" | undefined) | undefined;
  readonly door?: Door | undefined;
}

/** Who asks: a key's name, its digest (joins and turn lists never cross it), and whether it is the owner's. */
export interface Caller {
  readonly name: string;
  readonly digest: string;
  readonly owner: boolean;
}

/** A key that the owner made for another program, and whether it still opens the gateway; `endedAtMs`: since when it does not. */
export interface FoundKey {
  readonly caller: Caller;
  readonly state: "works" | "expired" | "revoked";
  readonly endedAtMs: number | undefined;
}

const shortestKey = 16;

/** @throws MillraceError `invalid_request` without a key, or with one too short to protect anything. */
export function openGuard(policy: Omit<GuardPolicy, "hosts">, allowedHosts: readonly string[] = []): GuardPolicy {
  const { keys } = policy;
  if (keys.length === 0) throw new MillraceError("invalid_request", "A gateway needs a key.");
  for (const { name, key } of keys) {
    if (key.reveal().length < shortestKey) {
      throw new MillraceError("invalid_request", `The key \`${name}\` is shorter than ${shortestKey} characters.`, {
        hint: "`millrace keys --new` makes a good one.",
      });
    }
  }
  const hosts = new Set([...loopbackHosts, ...allowedHosts.map((host) => host.toLowerCase())]);
  return { ...policy, hosts };
}

/**
 * Checks Host and Origin before anything else. A page in the user's browser can reach loopback, directly or through a name
 * that points there, and must get nothing. Source: docs/http-api.md, "Access".
 */
export function refuseForeign(policy: GuardPolicy, headers: Headers): Refusal | undefined {
  const host = headers.get("host");
  if (host === null) return new Refusal("no_host", "The request has no Host header.", { hint: "Send one." });
  if (policy.door !== undefined && !policy.hosts.has(host.toLowerCase()))
    return new Refusal("not_open", `Host ${quote(host)} is not served here.`, { hint: `Use ${[...policy.hosts][0]}.` });
  if (policy.door === undefined && !policy.hosts.has(hostName(host))) {
    const set = "`millrace config set serve.allow_host <name>`, then `millrace restart`";
    return new Refusal("not_open", `Host ${quote(host)} is not served here.`, {
      hint: `Use 127.0.0.1 or localhost, or ${set}.`,
    });
  }
  const origin = headers.get("origin");
  if (origin !== null && !policy.origins.has(origin)) {
    const set = `\`millrace config set serve.allow_origin ${origin}\` (beside those that you allowed before), then \`millrace restart\``;
    const hint = isOrigin(origin) ? `Allow them: ${set}.` : "They cannot be allowed: they have no origin of their own.";
    return new Refusal("not_open", `Pages of ${quote(origin)} may not call this gateway.`, { hint });
  }
  const site = headers.get("sec-fetch-site"); // a browser that asks for a picture or a link sends this and no origin
  if (policy.door !== undefined && origin === null && site !== null && site !== "none")
    return new Refusal("not_open", "Pages in a browser may not ask here.", { hint: "Use a program that is none." });
  return undefined;
}

/** Whether a browser or a program with a web view sends this as the origin of its pages: `https://notes.example`, `app://obsidian.md`. */
export function isOrigin(text: string): boolean {
  if (/^https?:/.test(text)) return URL.parse(text)?.origin === text;
  return text.length <= 200 && /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9][a-z0-9._-]*(?::\d{1,5})?$/.test(text);
}

/** The keys that a request carries: `Authorization: Bearer`, `x-api-key`, `api-key` (Azure), or `x-goog-api-key`. */
export function keysOf(headers: Headers): readonly Secret[] {
  const bearer = /^bearer +(.+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  const others = ["x-api-key", "api-key", "x-goog-api-key"].map((name) => headers.get(name));
  return [bearer, ...others].flatMap((text) => (text?.trim() ? [new Secret(text.trim())] : []));
}

/** The caller whose key the request carries. Every key is compared, in constant time. */
export function authenticate(policy: GuardPolicy, headers: Headers): Caller | undefined {
  const atDoor = policy.door?.key();
  let caller = atDoor?.state === "works" ? atDoor.caller : undefined;
  if (policy.door !== undefined) return caller; // a key that the program sends does not count
  for (const sent of keysOf(headers)) {
    const given = callerDigest(sent);
    for (const [index, { name, key }] of policy.keys.entries()) {
      const counts = index === 0 ? (policy.ownerKey?.() ?? key) : key;
      const isRight = new Secret(given).equals(new Secret(callerDigest(counts)));
      if (isRight) caller ??= { name, digest: callerDigest(key), owner: index === 0 }; // a new key keeps the owner's turns
    }
    const found = policy.issued?.(sent);
    if (typeof found === "object" && found.state === "works") caller ??= found.caller;
  }
  return caller;
}

/** The owner's key that counts now. */
export function ownersKey({ keys, ownerKey }: GuardPolicy): Secret | undefined {
  return ownerKey?.() ?? keys[0]?.key;
}

/** The owner, for a request that carries no key but a session of the dashboard. */
export function ownerOf(policy: GuardPolicy, name = "dashboard"): Caller | undefined {
  const [owner] = policy.keys;
  return owner === undefined ? undefined : { name, digest: callerDigest(owner.key), owner: true };
}

/** A digest of the key that stands in turns and is compared instead of the key. Its length reveals nothing. */
export function callerDigest(key: Secret): string {
  return createHash("sha256").update("millrace caller\0").update(key.reveal()).digest("hex");
}

function hostName(host: string): string {
  return host.trim().toLowerCase().replace(/:\d+$/, "");
}

function quote(text: string): string {
  return writeJson(text.slice(0, 200));
}

const methods = "GET, POST, DELETE, OPTIONS";
const exposed = ["request-id", ...answerInfos.map(({ name }) => name)].join(", ");

/** The headers that let a page of an allowed origin read an answer; empty for other origins. Never a wildcard. */
export function corsHeaders(origin: string | null): Readonly<Record<string, string>> {
  if (origin === null) return {};
  return { "access-control-allow-origin": origin, "access-control-expose-headers": exposed, vary: "origin" };
}

/**
 * The answer to a preflight whose origin the guard let pass. Requested headers are echoed (the SDKs send a dozen
 * `x-stainless-*`), each checked to be a header name. Source: docs/dev/wire/requirements.json.
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
