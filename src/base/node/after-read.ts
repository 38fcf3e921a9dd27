/**
 * Ends something of HTTP/2 in a turn of the event loop of its own. Node runs what waits for an answer while it still reads from that
 * connection. A session or a stream that ends meanwhile gives back memory which the read goes on to use, and the process dies later and
 * elsewhere. Source: nodejs/node#65093, and Node 22.13.0 under valgrind.
 */
export function afterRead(end: () => void): void {
  setImmediate(end);
}
