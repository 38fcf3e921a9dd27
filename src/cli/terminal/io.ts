import type { Readable, Writable } from "node:stream";
import type { Clock } from "../../base/clock.ts";

/** All that a command may touch of the world: handed in, so that every command is tested in process. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly homeFolder: string;
  readonly clock: Clock;
  /** Aborts on the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
  /** Calls the listener at each SIGHUP from now on, which then does not stop the program. */
  onHangUp?(listener: () => void): void;
}
