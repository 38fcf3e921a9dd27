import { isPortTaken, type Listener } from "../../gateway/http/listen.ts";
import type { OpenGateway } from "../../gateway/open-gateway.ts";
import type { CommandContext } from "../command.ts";
import { findPortHolder } from "../gateway-process/port-holder.ts";
import { type PortReason, portTaken } from "../gateway-process/port-taken.ts";

/** Listens on the port. If a fixed port is in use, throws an error that names its process. Otherwise picks a free one and prints it. */
export async function listenSomewhere(
  gateway: OpenGateway,
  {
    fixedBy,
    ...where
  }: {
    readonly host: string;
    readonly port: number;
    readonly socket?: string | undefined;
    readonly fixedBy?: PortReason | undefined;
  },
  { io, out, signal }: CommandContext,
): Promise<Listener> {
  try {
    return await gateway.listen(where);
  } catch (error) {
    if (!isPortTaken(error)) throw error;
    if (fixedBy !== undefined)
      throw portTaken(where.port, await findPortHolder(where.port, io.platform, signal), fixedBy);
    const listening = await gateway.listen({ ...where, port: 0 });
    out.note(`Port ${where.port} is in use by another program. Millrace uses port ${listening.port}.`);
    return listening;
  }
}
