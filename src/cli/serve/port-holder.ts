import { MillraceError } from "../../base/errors.ts";
import type { ProcessRow } from "../../ide/host/host.ts";
import { openHost } from "../../ide/host/open-host.ts";
import { setUpClients } from "../clients/installed.ts";
import type { Io } from "../terminal/output.ts";

/** The process that listens on this TCP port here; undefined where the system does not say (a process of another user). */
export function findPortHolder(
  port: number,
  { platform, homeFolder: home, env: environment, clock }: Pick<Io, "platform" | "homeFolder" | "env" | "clock">,
  signal: AbortSignal,
): Promise<PortHolder | undefined> {
  return openHost({ platform, uid: process.getuid?.(), home, environment, clock }).holderOf(port, signal);
}

type PortHolder = Pick<ProcessRow, "pid" | "command">;

/** With its program and, for an interpreter, the script. Further arguments may hold secrets and are left out. */
function spellHolder({ pid, command: { program, args } }: PortHolder): string {
  const name = program.replace(/^.*[\\/]/, "");
  const words = [name, ...args.slice(0, 1).filter((word) => word.startsWith("/"))];
  return name === "" ? `process ${pid}` : `process ${pid} (${words.join(" ")})`;
}

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
    holder === undefined ? "a process that this system does not show, perhaps of another user" : spellHolder(holder);
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

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
