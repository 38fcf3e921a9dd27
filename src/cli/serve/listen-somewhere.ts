import { isPortTaken, type Listening, type ListenOptions } from "../../gateway/http/listen.ts";
import type { SocketAddress } from "../../gateway/http/socket-address.ts";
import type { OpenGateway } from "../../gateway/open-gateway.ts";
import type { CommandContext } from "../command.ts";
import { findPortHolder } from "../gateway-process/port-holder.ts";
import { type PortReason, portTaken } from "../gateway-process/port-taken.ts";
import { connectionLimitsOf } from "./connection-limits.ts";

/** Listens on the port. If a fixed port is in use, throws an error that names its process. Otherwise picks a free one and prints it. */
export async function listenSomewhere(
  gateway: OpenGateway,
  {
    fixedBy,
    ...where
  }: {
    readonly host: string;
    readonly port: number;
    readonly allowCleartext?: boolean;
    readonly tls?: ListenOptions["tls"];
    readonly socket?: SocketAddress | undefined;
    readonly fixedBy?: PortReason | undefined;
  },
  { io, out, signal }: CommandContext,
): Promise<Listening> {
  const limits = connectionLimitsOf(io.env);
  try {
    return await gateway.listen({ ...where, limits });
  } catch (error) {
    if (!isPortTaken(error)) throw error;
    if (fixedBy !== undefined)
      throw portTaken(where.port, await findPortHolder(where.port, io.platform, signal), fixedBy);
    const listening = await gateway.listen({ ...where, limits, port: 0 });
    out.note(`Port ${where.port} is in use by another program. Millrace uses port ${listening.port}.`);
    return listening;
  }
}
