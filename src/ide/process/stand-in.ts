import { type Host, type ServerEnvironment, standInVariable } from "../host/host.ts";
import { looksLikeServer } from "./classify.ts";
import { checkOwner, isLoopbackAddress } from "./verify-holder.ts";

/** Whether a process with these variables is a stand-in. */
export function isStandIn(variables: ServerEnvironment | undefined): boolean {
  return variables?.get(standInVariable) === "1";
}

/** Whether a stand-in of this user listens at that address; false where the system does not say who listens there. */
export async function isStandInAt(
  host: Host,
  { host: address, port }: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<boolean> {
  if (!isLoopbackAddress(address)) return false;
  const list = await host.listProcesses(looksLikeServer, signal);
  for (const row of list.ok ? list.value.processes : []) {
    if (!checkOwner(row).ok) continue;
    const sockets = await host.listListening(row.pid, signal);
    if (!sockets.ok || !sockets.value.some((socket) => socket.port === port && socket.address === address)) continue;
    const environment = await host.readEnvironment(row, signal);
    if (environment.ok && isStandIn(environment.value)) return true;
  }
  return false;
}
