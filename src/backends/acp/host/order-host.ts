import type { Socket } from "node:net";
import { orAborted, timeLimit } from "../../../base/async.ts";
import { parseJson, writeJson } from "../../../base/json.ts";
import { dial } from "../../../base/node/door.ts";
import { remove } from "../../../base/node/move-file.ts";
import type { HostLook, Order } from "./wire.ts";

const helloMs = 10_000;

/** Sends an order and takes the first line of the answer. The socket is paused then. */
async function firstLine(socket: Socket, order: Order): Promise<string> {
  socket.setEncoding("utf8");
  socket.write(`${writeJson(order)}\n`);
  return await new Promise((resolve, reject) => {
    let said = "";
    const hear = (text: string) => {
      said += text;
      const end = said.indexOf("\n");
      if (end < 0) return;
      socket.off("data", hear);
      socket.pause();
      const rest = said.slice(end + 1);
      if (rest !== "") socket.unshift(rest);
      socket.off("close", gone);
      resolve(said.slice(0, end));
    };
    const gone = () => reject(new Error("the host ended before it answered"));
    socket.on("error", reject);
    socket.on("close", gone);
    socket.on("data", hear);
  });
}

/** A connection to a host, with its answer to the first order. The door of a host that was killed is removed. */
export async function answered(
  door: string,
  order: Order,
): Promise<{ readonly socket: Socket; readonly first: string }> {
  let socket: Socket | undefined;
  try {
    socket = await dial(door);
    return { socket, first: await orAborted(firstLine(socket, order), timeLimit(helloMs)) };
  } catch (error) {
    socket?.destroy();
    if ((error as NodeJS.ErrnoException).code === "ECONNREFUSED") await remove(door);
    throw error;
  }
}

/** A host's answer; undefined where the system says that there is no such host. Rejects for one that does not answer. */
export async function ask(door: string, order: Order): Promise<HostLook | undefined> {
  try {
    const { socket, first } = await answered(door, order);
    socket.destroy();
    return parseJson(first) as HostLook; // a host's
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** The system says that no such program runs. Another error says only that it cannot be reached now. */
export function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ECONNREFUSED"].includes((error as NodeJS.ErrnoException).code ?? "");
}
