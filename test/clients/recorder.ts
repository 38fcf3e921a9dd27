import { createServer, request as forward } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Notifier } from "../../src/base/notifier.ts";

/** A request as a client sent it. */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** When it came; ms of this process's own clock. */
  readonly atMs: number;
  /** How long the gateway had waited for a processor by then; ms. */
  readonly waitedMs: number;
  /** The status of its answer; undefined while there is none. */
  status?: number;
  /** When the answer had ended, or the client had left; undefined before. */
  endedAtMs?: number;
  /** How much of its answer has passed, in bytes. */
  passed: number;
}

export interface Recorder {
  readonly url: string;
  readonly requests: Recorded[];
  /** Resolves once the requests pass; looks again with each request and each piece of an answer. Throws the signal's reason. */
  until(passes: (requests: readonly Recorded[]) => boolean, signal: AbortSignal): Promise<void>;
  /** Passes what follows on to another gateway. */
  leadTo(gatewayUrl: string): void;
  close(): void;
}

/** Stands between a client and the gateway and remembers what the client asked; answers pass as they come. */
export async function startRecorder(gatewayUrl: string, waitedMs: () => number): Promise<Recorder> {
  let target = new URL(gatewayUrl);
  /** While no gateway listens, the first request is refused and the next ones wait: a client's patience is no measure of how fast this machine starts a gateway. */
  let wasRefused = false;
  let successor = Promise.withResolvers<void>();
  const requests: Recorded[] = [];
  const changes = new Notifier();
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "GET", url: path = "/", headers } = incoming;
      const body = Buffer.concat(chunks);
      const at = { atMs: performance.now(), waitedMs: waitedMs() };
      const recorded: Recorded = { method, path, headers, body: body.toString("utf8"), ...at, passed: 0 };
      requests.push(recorded);
      changes.wake();
      const pass = () => {
        if (outgoing.destroyed) return; // its client has left
        const upstream = forward(
          { host: target.hostname, port: target.port, method, path, headers: { ...headers, host: target.host } },
          (answer) => {
            recorded.status = answer.statusCode ?? 502;
            outgoing.writeHead(recorded.status, answer.headers);
            answer.pipe(outgoing);
            answer.on("data", ({ length }: Buffer) => {
              recorded.passed += length;
              changes.wake();
            });
            answer.on("error", () => outgoing.destroy()); // a stream that is cut is cut for the client too
          },
        );
        upstream.on("error", ({ code }: NodeJS.ErrnoException) => {
          const waits = code === "ECONNREFUSED" && wasRefused;
          wasRefused ||= code === "ECONNREFUSED";
          if (waits) void successor.promise.then(pass);
          else outgoing.destroy();
        });
        outgoing.once("close", () => upstream.destroy());
        upstream.end(body);
      };
      outgoing.on("close", () => {
        recorded.endedAtMs = performance.now();
      });
      pass();
    });
  });
  server.on("upgrade", (incoming, socket, head) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    requests.push({ method, path, headers, body: "", atMs: performance.now(), waitedMs: waitedMs(), passed: 0 });
    const onward = connect(Number(target.port), target.hostname, () => {
      const lines = incoming.rawHeaders.flatMap((name, at, all) => (at % 2 === 0 ? `${name}: ${all[at + 1]}` : []));
      const sent = lines.map((line) => line.replace(/^host: .*$/i, `host: ${target.host}`));
      onward.write([`${method} ${path} HTTP/1.1`, ...sent, "", ""].join("\r\n"));
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    socket.on("error", () => onward.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const until = async (passes: (all: readonly Recorded[]) => boolean, signal: AbortSignal) => {
    while (!passes(requests)) await changes.wait(signal);
  };
  const leadTo = (url: string) => {
    target = new URL(url);
    wasRefused = false;
    successor.resolve();
    successor = Promise.withResolvers();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    until,
    leadTo,
    close: () => server.close().closeAllConnections(),
  };
}
