import { connect } from "node:net";
import { deadline } from "../../base/async.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { Settings } from "../compose/settings.ts";
import { lookForGateway } from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { type Finding, finding } from "./finding.ts";

const connectLimitMs = 1_000;

/** Whether a gateway of this user runs, and whether its usual port is free for one. */
export async function checkGateway(settings: Settings, usualPort: number, ownVersion: string, signal: AbortSignal) {
  const written = readGatewayFile(settings.gatewayFile);
  const found = await runningGateway(settings, signal);
  const running = found === "stranger" ? undefined : found?.url;
  const none = { running: false, url: null, version: null, pid: null };
  if (running === undefined || written === undefined) {
    const findings: Finding[] = [finding("gateway", "note", "No gateway runs", "Start it with `millrace serve`.")];
    if (written !== undefined && found === "stranger")
      findings.push(
        finding(
          "gateway",
          "warning",
          `Another program answers at ${written.url}, where your gateway was. It gets no key from Millrace`,
          "Run `millrace serve`. Other clients cannot check who answers: stop that program, or set them up again.",
        ),
      );
    else if (written !== undefined)
      findings.push(finding("gateway", "note", `${settings.gatewayFile} is left over from a gateway that ended`));
    if (await listens(usualPort, signal)) {
      findings.push(
        finding(
          "gateway",
          "note",
          `Port ${usualPort} is taken by another program`,
          "`millrace serve` takes another one and says which.",
        ),
      );
    }
    return { ...none, findings };
  }
  const findings: Finding[] = [finding("gateway", "ok", `A gateway runs at ${running}`)];
  if (written.version !== ownVersion) {
    findings.push(
      finding(
        "gateway",
        "warning",
        `The gateway that runs is of version ${written.version}, this command of ${ownVersion}`,
        "Stop it and start it again.",
      ),
    );
  }
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

function listens(port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const limited = deadline(signal, connectLimitMs);
    const end = (answer: boolean) => {
      limited.removeEventListener("abort", onAbort);
      socket.destroy();
      resolve(answer);
    };
    const onAbort = () => end(false);
    limited.addEventListener("abort", onAbort, { once: true });
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
