import { MillraceError } from "../../base/errors.ts";
import type { ListenOptions } from "../../gateway/http/listen.ts";
import { openTlsFiles } from "../../gateway/http/tls-files.ts";
import type { CommandContext } from "../command.ts";

/** The certificate of the port, where there is to be one. Throws `invalid_request`. */
export function tlsOf(
  { tlsCert, tlsKey, socket }: { readonly [_ in "tlsCert" | "tlsKey" | "socket"]: string | undefined },
  out: Pick<CommandContext["out"], "note">,
): ListenOptions["tls"] {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined)
    throw new MillraceError("invalid_request", "TLS needs both --tls-cert and --tls-key.", { hint: "Give both." });
  if (socket !== undefined)
    throw new MillraceError("invalid_request", "A socket or a pipe needs no TLS.", {
      hint: "Leave one of both out.",
    });
  const onProblem = ({ message }: Error) => out.note(`${message} Millrace keeps using the earlier certificate.`);
  return openTlsFiles({ certFile: tlsCert, keyFile: tlsKey, onProblem });
}
