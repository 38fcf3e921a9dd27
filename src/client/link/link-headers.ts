import type { Interceptor } from "@connectrpc/connect";
import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";

/** This library's version: that of the package, to which a test holds it. There is no file to read it from in a browser. */
export const clientVersion = "0.1.0";

/** Header with the client's name; a separate header, because a page cannot set its user agent. */
const clientHeader = "x-millrace-client";

/**
 * Puts the gateway's key and the client's name on every call. `name` is a product and its version, `my-app/1.2.0`; this
 * library's own where it is not given.
 *
 * @throws MillraceError `invalid_request` for a name of another form.
 */
export function linkHeaders(key: string, name = `millrace-client/${clientVersion}`): Interceptor {
  const secret = new Secret(key);
  if (!/^[\w@.+-]+(\/[\w.+-]+)?$/.test(name) || name.length > 80) {
    throw new MillraceError("invalid_request", `clientName is ${JSON.stringify(name.slice(0, 100))}.`, {
      param: "clientName",
      hint: "Give a product and its version without blanks, at most 80 characters: my-app/1.2.0.",
    });
  }
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${secret.reveal()}`);
    request.header.set(clientHeader, name);
    return next(request);
  };
}
