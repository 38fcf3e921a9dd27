import http from "node:http";
import { z } from "zod";
import { isMillraceError, MillraceError } from "../src/base/errors.ts";
import type { OwnTurnInput, PlanInput } from "./account/plan-options.ts";
import type { AgentInput } from "./acp/agent-options.ts";
import type { RpcFault } from "./faults/rpc-fault.ts";
import type { TurnPlan } from "./faults/turn-plan.ts";
import type { Simulator } from "./start.ts";
import { closeWithConnections, listenOnLoopback } from "./wire/loopback.ts";

/** The HTTP way to steer a running simulator from another process. */
interface ControlServer {
  readonly port: number;
  close(): Promise<void>;
}

const maxBodyBytes = 1024 * 1024;
const restartSchema = z.strictObject({ crash: z.boolean().optional() });

type Route = (simulator: Simulator, body: unknown) => Promise<unknown>;

/** Every route, by method and path. All bodies and answers are JSON; the simulator checks what it is given. */
const routes: Readonly<Record<string, Route>> = {
  "GET /": async (simulator) => describe(simulator),
  "GET /report": async (simulator) => ({
    ...(await simulator.report()),
    ...(simulator.profile.devin === undefined ? {} : { agent: simulator.agentReport() }),
  }),
  "PUT /agent": (simulator, body) => simulator.setAgent(body as AgentInput),
  "PUT /turn": (simulator, body) => simulator.setTurn(body as TurnPlan),
  "PUT /faults": (simulator, body) => simulator.setFaults(body as RpcFault[]),
  "PUT /plan": (simulator, body) => simulator.setPlan(body as PlanInput),
  "POST /release": (simulator) => simulator.release(),
  "POST /spend": (simulator, body) => simulator.spend(body as OwnTurnInput),
  "POST /restart": async (simulator, body) => {
    const { crash = false } = restartSchema.parse(body ?? {});
    await simulator.restart({ crash });
    return describe(simulator);
  },
};

/** Where everything of a running simulator is, without its secrets. */
export function describe(simulator: Simulator) {
  return {
    profile: simulator.profile.name,
    ideVersion: simulator.ideVersion,
    home: simulator.home,
    ...(simulator.profile.devin?.editor === false ? {} : describeEditor(simulator)),
    ...(simulator.agentPath === undefined ? {} : { agent: simulator.agentPath }),
    ...(simulator.cliPath === undefined ? {} : { cli: simulator.cliPath }),
    starts: simulator.starts,
  };
}

function describeEditor(simulator: Simulator) {
  return {
    pid: simulator.pid,
    port: simulator.port,
    ...(simulator.tlsPort === undefined ? {} : { tlsPort: simulator.tlsPort }),
    otherPorts: simulator.otherPorts,
    extensionServerPort: simulator.extensionServerPort,
    stateDatabase: simulator.layout.stateDatabase,
    cascades: simulator.layout.cascades,
    extension: simulator.layout.extension,
  };
}

/**
 * Opens the control API on loopback. A browser is turned away: any request that carries an Origin, or a Host that is
 * not loopback, is refused.
 *
 * @param port 0 for any free one.
 */
export async function startControlServer(simulator: Simulator, port: number): Promise<ControlServer> {
  const server = http.createServer((request, response) => {
    void serve(simulator, request, response);
  });
  return {
    port: await listenOnLoopback(server, port),
    close: () => closeWithConnections(server),
  };
}

async function serve(
  simulator: Simulator,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  try {
    const { status, body } = await answer(simulator, request);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  } catch {
    response.destroy(); // the peer went away while it wrote, or wrote without end
  }
}

async function answer(
  simulator: Simulator,
  request: http.IncomingMessage,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const host = (request.headers.host ?? "").replace(/:\d+$/, "");
  if (request.headers.origin !== undefined || !["127.0.0.1", "localhost", "[::1]"].includes(host)) {
    return { status: 403, body: { error: "The control API takes requests from programs on this machine only." } };
  }
  const text = await readBody(request);
  const route = routes[`${request.method ?? ""} ${request.url ?? ""}`];
  if (route === undefined) {
    return { status: 404, body: { error: "No such route.", routes: Object.keys(routes) } };
  }
  try {
    return { status: 200, body: (await route(simulator, text === "" ? undefined : parseJson(text))) ?? {} };
  } catch (error) {
    if (error instanceof z.ZodError) return { status: 400, body: { error: z.prettifyError(error) } };
    const wrong = isMillraceError(error) && error.code === "invalid_request";
    return { status: wrong ? 400 : 500, body: { error: error instanceof Error ? error.message : String(error) } };
  }
}

async function readBody(request: http.IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new Error("the body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MillraceError("invalid_request", "The body is not JSON.", { cause });
  }
}
