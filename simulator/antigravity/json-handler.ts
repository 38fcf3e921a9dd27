import { Buffer } from "node:buffer";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../src/base/clock.ts";
import { servicePath } from "../wire/guard.ts";
import type { Handler } from "../wire/listener.ts";
import { type Request, type Response, refuseCall, writeResponse } from "../wire/refuse.ts";
import type { JsonRpc } from "./answers.ts";

const maxBodyBytes = 4 * 1024 * 1024;

/** Serves unary Connect calls with JSON bodies; calls in any other form go to `binary`. A call without an entry is not supported by this stand-in. */
export function jsonHandler(rpcs: ReadonlyMap<string, JsonRpc>, clock: Clock, binary: Handler): Handler {
  return (request, response) => {
    const type = request.headers["content-type"] ?? "";
    if (type.startsWith("application/json")) void answer(rpcs, clock, request, response);
    else binary(request, response);
  };
}

async function answer(
  rpcs: ReadonlyMap<string, JsonRpc>,
  clock: Clock,
  request: Request,
  response: Response,
): Promise<void> {
  const rpc = rpcs.get((request.url ?? "").split("?", 1)[0]?.slice(servicePath.length) ?? "");
  try {
    const body = await readJson(request);
    const said = rpc?.(body, clock.now());
    if (said === undefined)
      throw new ConnectError("this stand-in takes no prompts for Antigravity", Code.FailedPrecondition);
    writeResponse(response, 200, { "content-type": "application/json" }, JSON.stringify(said));
  } catch (error) {
    if (!response.headersSent) refuseCall(request, response, ConnectError.from(error));
  }
}

async function readJson(request: Request): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new ConnectError("message is too large", Code.ResourceExhausted);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new ConnectError("unmarshal message: invalid JSON", Code.InvalidArgument);
  }
}
