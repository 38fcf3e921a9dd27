import type { Socket } from "node:net";

/**
 * Closes the connection with a reset. A socket whose end has been written is destroyed in its place: Node 24 never closes it after a
 * reset, and the process then uses a whole processor at its exit for ever.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
