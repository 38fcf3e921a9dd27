import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";

/** The address of a Redis server. Its URL may hold a password; its shown form does not. */
export interface RedisAddress {
  readonly url: Secret;
  readonly shown: string;
}

const hint = "Give one like redis://127.0.0.1:6379, rediss://user:password@host:6380/1 or unix:/path/of/a/socket.";

/** Reads the address of a Redis server. Throws `invalid_request` without any part of the text: it may hold a password. */
export function parseRedisAddress(text: string): RedisAddress {
  if (/^unix:\/./.test(text)) return { url: new Secret(text), shown: text };
  const parsed = URL.parse(text);
  if (parsed === null || !/^rediss?:$/.test(parsed.protocol) || parsed.hostname === "") {
    throw new MillraceError("invalid_request", "That is not the address of a Redis server.", { hint });
  }
  return { url: new Secret(text), shown: `${parsed.protocol}//${parsed.host}${parsed.pathname}` };
}

export const defaultRedisAddress = "redis://127.0.0.1:6379";
