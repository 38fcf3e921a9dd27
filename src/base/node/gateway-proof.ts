import { createHmac, randomBytes } from "node:crypto";
import { deadline } from "../async.ts";
import { Secret } from "../secret.ts";
import { loopbackFetch } from "./loopback.ts";
import { portInTable, tcpRows } from "./socket-owner.ts";

/** The header of `GET /health` that carries a random challenge, and the header of its answer that carries the proof. */
export const challengeHeader = "x-millrace-challenge";
export const proofHeader = "x-millrace-proof";

/** How long a gateway may take until it listens; ms. */
export const startMs = 60_000;

/** Where a gateway says that it listens: its own port and the random instance of its start. */
export interface GatewayAddress {
  readonly url: string;
  readonly instance: string;
}

/** Which program answers at an address: our gateway, another program, one that does not answer in time, or none. */
export type Listener = "ours" | "stranger" | "silent" | "none";

/**
 * The proof that a program knows the gateway's key, as hex. It names port and instance, so a program on another port cannot pass the
 * challenge on to the real gateway. Source: docs/http-api.md, "Access".
 */
export function gatewayProof(
  key: Secret,
  challenge: string,
  at: { readonly port: number; readonly instance: string },
): string {
  const told = ["millrace gateway", challenge, at.instance, String(at.port)].join("\0");
  return createHmac("sha256", key.reveal()).update(told).digest("hex");
}

/**
 * Asks the program at this address to prove that it is the gateway of this key, and does not send the key. On Linux the listening
 * socket must belong to this user as well. Never rejects, unless `signal` aborts.
 */
export async function identifyListener(
  { url, instance }: GatewayAddress,
  key: Secret,
  waitMs: number,
  signal: AbortSignal = new AbortController().signal,
): Promise<Listener> {
  const { port: written, protocol } = new URL(url);
  const port = Number(written || (protocol === "https:" ? 443 : 80));
  const challenge = randomBytes(32).toString("base64url");
  try {
    if (await belongsToOthers(port)) return "stranger";
    const response = await loopbackFetch(new URL("/health", url), {
      headers: { [challengeHeader]: challenge },
      signal: deadline(signal, waitMs),
    });
    await response.body?.cancel();
    const proof = new Secret(response.headers.get(proofHeader) ?? "");
    return proof.equals(new Secret(gatewayProof(key, challenge, { port, instance }))) ? "ours" : "stranger";
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof DOMException && error.name === "TimeoutError") return "silent";
    return isNotHttp(error) ? "stranger" : "none";
  }
}

/** Whether a program answered, but not in HTTP. Node's parser names its errors HPE_. */
function isNotHttp(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && String(cause.code).startsWith("HPE_");
}

/** Whether the system says that only other users listen on this TCP port. False where it does not say. */
async function belongsToOthers(port: number): Promise<boolean> {
  const self = process.getuid?.();
  if (process.platform !== "linux" || self === undefined) return false;
  const listeners = (await tcpRows()).filter(({ local, state }) => state === "0A" && local.endsWith(portInTable(port))); // LISTEN
  return listeners.length > 0 && !listeners.some(({ uid }) => uid === self);
}
