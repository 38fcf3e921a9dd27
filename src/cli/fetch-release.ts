import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { pipeline } from "node:stream/promises";
import { MillraceError } from "../base/errors.ts";
import { fileProblem } from "../base/node/file-problem.ts";
import { loopbackAgent } from "../base/node/loopback.ts";
import type { CommandContext } from "./command.ts";

/** The SHA-256 of a file, in hexadecimal. Throws as the file system does. */
export async function sumOf(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash, { signal });
  return hash.digest("hex");
}

/** The error of a release that cannot be used. */
export function broken(address: string, why: string, cause?: unknown): MillraceError {
  const hint = "Nothing was changed. `--from <url>` names another place.";
  return new MillraceError("upstream_failed", `${address} cannot be used: ${why}.`, { hint, cause });
}

/** The checksum that a file beside the release holds. Throws `upstream_failed` where there is none. */
export async function fetchSum(address: string, context: CommandContext): Promise<string> {
  const answer = await get(address, context);
  try {
    let written = "";
    for await (const part of answer.setEncoding("utf8")) if ((written += part).length > 200) break;
    const [sum] = /^[0-9a-f]{64}\b/.exec(written) ?? [];
    if (sum !== undefined) return sum;
  } catch (error) {
    context.signal.throwIfAborted();
    throw broken(address, "the connection ended", error);
  }
  throw broken(address, "it holds no checksum");
}

/** Writes what is at an address into a file that may be run. Throws `upstream_failed`, or the problem of the file. */
export async function fetchFile(address: string, file: string, context: CommandContext): Promise<void> {
  const answer = await get(address, context);
  try {
    await pipeline(answer, createWriteStream(file, { mode: 0o755 }), { signal: context.signal });
  } catch (error) {
    context.signal.throwIfAborted();
    throw fileProblem(error, file) ?? broken(address, "the connection ended", error);
  }
}

/** How long a server may say nothing; ms. */
const silentMs = 30_000;

/**
 * The one request of Millrace to another machine: to the address that the user named, and where that leads. Only over TLS, but for this
 * machine. A proxy of the environment is used, where this Node knows how.
 */
async function get(address: string, context: CommandContext, hops = 5): Promise<IncomingMessage> {
  const { env } = context.io;
  const url = URL.parse(address);
  const own = url === null ? undefined : loopbackAgent(url);
  if (url === null || !(url.protocol === "https:" || (url.protocol === "http:" && own !== undefined)))
    throw broken(address, "it does not begin with https://");
  const isTls = url.protocol === "https:";
  const agent = own ?? (isTls ? new HttpsAgent({ proxyEnv: env }) : new Agent());
  const sent = (isTls ? requestHttps : request)(url, { agent, signal: context.signal });
  sent.on("error", () => undefined); // told by what waits for the answer, or reads it
  sent.setTimeout(silentMs, () => sent.destroy(new Error(`no byte for ${silentMs / 1000} s`)));
  let answer: IncomingMessage;
  try {
    sent.end();
    [answer] = (await once(sent, "response")) as [IncomingMessage];
  } catch (error) {
    context.signal.throwIfAborted();
    const { code, message } = error as NodeJS.ErrnoException; // Node throws nothing else
    throw broken(address, code ?? message, error);
  }
  const { statusCode = 0, headers } = answer;
  if (statusCode === 200) return answer;
  answer.resume();
  if (statusCode > 300 && statusCode < 400 && headers.location !== undefined && hops > 0)
    return get(new URL(headers.location, url).href, context, hops - 1);
  throw broken(address, `the server answered ${statusCode}`);
}
