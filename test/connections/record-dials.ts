import { Socket as DatagramSocket } from "node:dgram";
import dns from "node:dns";
import { appendFileSync } from "node:fs";
import { Socket } from "node:net";

/**
 * Loaded into a process before its own code (`--import`): writes every address that it dials, and every name that it looks up, to
 * the file that `MILLRACE_TEST_DIALS` names. HTTP, HTTP/2, TLS and `fetch` all dial through `net.Socket`. For machines where
 * system calls cannot be traced; programs that are not Node's do not show.
 */
const file = process.env["MILLRACE_TEST_DIALS"];
if (file !== undefined) {
  const note = (kind: string, what: unknown) => appendFileSync(file, `${JSON.stringify({ kind, what })}\n`);
  const wrap = (holder: object, name: string, noteOf: (parameters: readonly unknown[]) => void) => {
    const methods = holder as Record<string, (...parameters: unknown[]) => unknown>; // one that Node documents
    const original = methods[name];
    if (original === undefined) throw new Error(`this Node has no ${name}`);
    methods[name] = function dialled(this: unknown, ...parameters: unknown[]) {
      noteOf(parameters);
      return original.apply(this, parameters);
    };
  };
  wrap(Socket.prototype, "connect", (parameters) => {
    const [first] = parameters.flat(); // Node hands it on as a list
    if (typeof first === "number") return note("tcp", `${String(parameters[1])}:${first}`);
    const { host, port, path } = Object(first) as {
      readonly host?: string;
      readonly port?: number;
      readonly path?: string | null;
    };
    if (typeof path === "string") return note("unix", path); // an agent of ours hands `null` on
    note("tcp", `${host ?? "localhost"}:${port ?? "?"}`);
  });
  for (const name of ["connect", "send"])
    wrap(DatagramSocket.prototype, name, (parameters) =>
      note("udp", parameters.slice(name === "send" ? 1 : 0).join(" ")),
    );
  wrap(dns, "lookup", ([name]) => note("name", name));
  for (const name of Object.keys(dns).filter((each) => each.startsWith("resolve")))
    wrap(dns, name, ([asked]) => note("name", asked));
}
