import { once } from "node:events";
import { connect } from "node:net";
import { deadline } from "../../base/async.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { Settings } from "../compose/settings.ts";
import { lookForGateway } from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { finding } from "./finding.ts";

const connectLimitMs = 1_000;

/** Whether a gateway of this user runs, and whether its usual port is free for one. */
export async function checkGateway(settings: Settings, usualPort: number, ownVersion: string, signal: AbortSignal) {
  const written = readGatewayFile(settings.gatewayFile);
  const found = await runningGateway(settings, signal);
  const running = found === "stranger" ? undefined : found?.url;
  if (running === undefined || written === undefined) {
    const left =
      written === undefined
        ? []
        : found === "stranger"
          ? [
              finding(
                "gateway",
                "warning",
                `Another program answers at ${written.url}, where your gateway was. It gets no key from Millrace`,
                "Run `millrace serve`. Other clients cannot check who answers: stop that program, or set them up again.",
              ),
            ]
          : [finding("gateway", "note", `${settings.gatewayFile} is left over from a gateway that ended`)];
    const taken = `Port ${usualPort} is taken by another program`;
    const findings = [
      finding("gateway", "note", "No gateway runs", "Start it with `millrace serve`."),
      ...left,
      ...((await listens(usualPort, signal))
        ? [finding("gateway", "note", taken, "`millrace serve` takes another one and says which.")]
        : []),
    ];
    return { running: false, url: null, version: null, pid: null, findings };
  }
  const good = finding("gateway", "ok", `A gateway runs at ${running}`);
  const other = `The gateway that runs is of version ${written.version}, this command of ${ownVersion}`;
  const isOther = written.version !== ownVersion;
  const findings = [good, ...(isOther ? [finding("gateway", "warning", other, "Stop it and start it again.")] : [])];
  return { running: true, url: running, version: written.version, pid: written.pid, findings };
}

async function runningGateway(settings: Settings, signal: AbortSignal): ReturnType<typeof lookForGateway> {
  try {
    return await lookForGateway(settings, signal);
  } catch (error) {
    if (isMillraceError(error)) return undefined; // its key file cannot be used: the check of the key says so
    throw error;
  }
}

async function listens(port: number, signal: AbortSignal): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port });
  try {
    await once(socket, "connect", { signal: deadline(signal, connectLimitMs) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
