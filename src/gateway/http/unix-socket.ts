import { chmodSync, lstatSync, rmSync } from "node:fs";
import { connect, type Server } from "node:net";
import { MillraceError } from "../../base/errors.ts";

/**
 * Listens on a Unix domain socket that only its user may connect to (mode 0600, from its first moment on). A socket that an
 * earlier process left is replaced.
 *
 * @throws MillraceError `invalid_request` where another process listens there, or something else stands there.
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  if (await isLeftBehind(path)) rmSync(path);
  const mask = process.umask(0o177); // the system binds the socket before `listen` returns
  try {
    const listening = new Promise<void>((resolve, reject) => {
      server.once("error", (cause: NodeJS.ErrnoException) => reject(socketError(path, cause)));
      server.listen(path, resolve);
    });
    process.umask(mask);
    await listening;
    chmodSync(path, 0o600);
  } finally {
    process.umask(mask);
  }
}

/** Whether the path has a socket without a listener. */
async function isLeftBehind(path: string): Promise<boolean> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return false;
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(false);
    });
    probe.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED"));
  });
}

function socketError(path: string, cause: NodeJS.ErrnoException): MillraceError {
  const why =
    cause.code === "EADDRINUSE" ? "is in use, or something else stands there" : `cannot be made (${cause.code})`;
  const hint = "Choose another path, in a folder of your own.";
  return new MillraceError("invalid_request", `The socket ${path} ${why}.`, { param: "socket", hint, cause });
}
