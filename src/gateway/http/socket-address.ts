import { MillraceError } from "../../base/errors.ts";

/** Where to listen in place of an address and port: a Unix domain socket, or a named pipe of Windows. */
export interface SocketAddress {
  readonly kind: "unix" | "pipe";
  readonly path: string;
}

/** The names of pipes on this machine that Windows accepts: one part without a backslash, 256 characters in all. */
const pipeOfThisMachine = /^\\\\[.?]\\pipe\\[^\\]+$/i;
const longestPipe = 256;
const pipeHint = "Use a name such as \\\\.\\pipe\\millrace.";

/**
 * Reads `--socket` for this system.
 *
 * @throws MillraceError `invalid_request` for a pipe on a system other than Windows, and for anything else than a pipe on Windows.
 */
export function readSocketAddress(given: string, platform: NodeJS.Platform): SocketAddress {
  if (platform !== "win32") {
    if (!/^\\\\[^\\]+\\pipe\\/i.test(given)) return { kind: "unix", path: given };
    throw refused(`${given} is a named pipe, and only Windows has those.`, "Give the path of a Unix domain socket.");
  }
  if (!/^\\\\[^\\]+\\pipe\\/i.test(given))
    throw refused("On Windows --socket needs the name of a named pipe, not a path.", pipeHint);
  if (!pipeOfThisMachine.test(given) || given.length > longestPipe)
    throw refused(`${given.slice(0, longestPipe)} is not the name of a pipe on this machine.`, pipeHint);
  return { kind: "pipe", path: given };
}

/** The address as output and `--json` show it. */
export function spellSocketAddress({ kind, path }: SocketAddress): string {
  return `${kind}:${path}`;
}

/** Describes the protection from other users, for the start-up output. */
export function spellSocketGuard({ kind }: SocketAddress): string {
  return kind === "unix"
    ? "mode 0600: only your user connects, and each request needs the key"
    : "a pipe has no file mode: each request needs the key";
}

function refused(message: string, hint: string): MillraceError {
  return new MillraceError("invalid_request", message, { param: "socket", hint });
}
