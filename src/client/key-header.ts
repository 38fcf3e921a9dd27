import type { Interceptor } from "@connectrpc/connect";
import { Secret } from "../base/secret.ts";

/** Puts the gateway's key on every call. */
export function withKey(key: string): Interceptor {
  const secret = new Secret(key);
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${secret.reveal()}`);
    return next(request);
  };
}
