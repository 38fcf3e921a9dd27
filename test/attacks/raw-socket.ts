import { connect } from "node:net";

/** What a server said on one connection. */
export interface Heard {
  /** The statuses of all its answers, in order. */
  readonly statuses: readonly number[];
  readonly text: string;
  readonly closed: boolean;
}

/**
 * Sends bytes as they are and hears until `enough` says so or the server closes. A client library would correct most of what
 * an attacker sends.
 */
export function sendRaw(port: number, bytes: string | Buffer, enough = hasAnswer): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const pieces: Buffer[] = [];
    const heard = (closed: boolean): Heard => {
      const text = Buffer.concat(pieces).toString("latin1");
      const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
      return { statuses, text, closed };
    };
    const end = (closed: boolean) => {
      resolve(heard(closed));
      socket.destroy();
    };
    socket.on("data", (piece: Buffer) => {
      pieces.push(piece);
      if (enough(heard(false).text)) end(false);
    });
    socket.on("close", () => end(true));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") reject(error);
      else end(true); // a reset is an end too
    });
    socket.on("connect", () => socket.write(bytes));
  });
}

/** A whole head is there. */
function hasAnswer(text: string): boolean {
  return text.includes("\r\n\r\n");
}

/** Never: hears until the server closes. */
export const untilClosed = () => false;

/** The bytes of a request. A header that is undefined is left out. */
export function requestBytes(
  method: string,
  target: string,
  headers: Readonly<Record<string, string | undefined>>,
  body = "",
): string {
  const lines = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return [`${method} ${target} HTTP/1.1`, ...lines, "", body].join("\r\n");
}
