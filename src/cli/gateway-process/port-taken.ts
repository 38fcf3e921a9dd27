import { MillraceError } from "../../base/errors.ts";
import { setUpClients } from "../clients/set-up-clients.ts";
import type { GatewayFile } from "./gateway-file.ts";
import type { PortHolder } from "./port-holder.ts";

/** Why the gateway may not use another port instead of the one in use. */
export type PortReason = { readonly kind: "option" } | { readonly kind: "clients"; readonly names: readonly string[] };

/** Why the port may not change: the user set it, or clients were configured with it. */
export function portReason(given: ReadonlySet<string>, folder: string): PortReason | undefined {
  if (given.has("port")) return { kind: "option" };
  const names = setUpClients(folder);
  return names.length === 0 ? undefined : { kind: "clients", names };
}

/** The error for a port that another program has. */
export function portTaken(port: number, holder: PortHolder | undefined, reason: PortReason): MillraceError {
  const who =
    holder === undefined
      ? "a process that this system does not show, perhaps of another user"
      : holder.command === undefined
        ? `process ${holder.pid}`
        : `process ${holder.pid} (${holder.command})`;
  const because =
    reason.kind === "option"
      ? ""
      : ` ${listed(reason.names)} ${reason.names.length === 1 ? "is" : "are"} set up for it.`;
  return new MillraceError("invalid_request", `Port ${port} is in use by ${who}.${because}`, {
    param: "port",
    hint:
      reason.kind === "option"
        ? "Stop that process, or choose another port. `--port 0` takes any free one."
        : "Stop that process. Or run `millrace serve --port <another>`, then `millrace setup` again for each client.",
  });
}

/** The error for a second gateway of this user on one port. */
export function alreadyServes({ url, pid }: Pick<GatewayFile, "url" | "pid">): MillraceError {
  return new MillraceError("invalid_request", `Your gateway already serves on ${url} (process ${pid}).`, {
    param: "port",
    hint: "You can use it. `millrace stop` stops it, `millrace restart` restarts it, `--port 0` starts a second one.",
  });
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
