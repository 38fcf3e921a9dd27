import { create } from "@bufbuild/protobuf";
import { type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { type Metadata, MetadataSchema } from "../src/proto/windsurf/exa/codeium_common_pb.ts";
import { CascadeRunStatus, type CortexTrajectoryStep } from "../src/proto/windsurf/exa/cortex_pb.ts";
import { LanguageServerService } from "../src/proto/windsurf/exa/language_server_pb.ts";
import type { Simulator } from "./start.ts";

export type Wire = "grpc" | "grpc-web" | "connect" | "connect-json" | "connect-h2";

/** A bare client for the tests of the simulator: no retries, no cleverness. */
export function clientOf(simulator: Simulator, wire: Wire = "grpc"): Client<typeof LanguageServerService> {
  return createClient(LanguageServerService, transportOf(simulator, wire));
}

function transportOf(simulator: Simulator, wire: Wire): Transport {
  const csrf: Interceptor = (next) => (request) => {
    request.header.set("x-codeium-csrf-token", simulator.csrfToken.reveal());
    return next(request);
  };
  const options = { baseUrl: `http://127.0.0.1:${simulator.port}`, interceptors: [csrf] };
  switch (wire) {
    case "grpc":
      return createGrpcTransport(options);
    case "grpc-web":
      return createGrpcWebTransport({ ...options, httpVersion: "1.1" });
    case "connect":
      return createConnectTransport({ ...options, httpVersion: "1.1" });
    case "connect-json":
      return createConnectTransport({ ...options, httpVersion: "1.1", useBinaryFormat: false });
    case "connect-h2":
      return createConnectTransport({ ...options, httpVersion: "2" });
    default:
      return wire satisfies never;
  }
}

export function metadataOf(simulator: Simulator): Metadata {
  return create(MetadataSchema, { ideName: "windsurf", apiKey: simulator.apiKey.reveal(), requestId: nextRequestId++ });
}

let nextRequestId = 1n;

/** Long enough for anything that must happen, on a busy machine too; a test that waits this long has failed. */
export const patience = () => AbortSignal.timeout(100_000);

/** Sends a prompt on a fresh cascade and gives its id. */
export async function send(
  simulator: Simulator,
  text: string,
  options: { readonly cascadeId?: string; readonly model?: string; readonly instructions?: string } = {},
): Promise<string> {
  const client = clientOf(simulator);
  await client.initializeCascadePanelState({ metadata: metadataOf(simulator), workspaceTrusted: true });
  const cascadeId =
    options.cascadeId ??
    (await client.startCascade({ metadata: metadataOf(simulator), source: 1, trajectoryType: 4 })).cascadeId;
  await client.sendUserCascadeMessage({
    cascadeId,
    metadata: metadataOf(simulator),
    items: [{ chunk: { case: "text", value: text } }],
    cascadeConfig: {
      plannerConfig: {
        requestedModelUid: options.model ?? "swe-1-6",
        plannerTypeConfig: {
          case: "conversational",
          value: { plannerMode: 3, additionalInstructionsSection: { mode: 1, content: options.instructions ?? "" } },
        },
      },
    },
  });
  return cascadeId;
}

/** The steps of a cascade once its turn has ended. */
export async function finalSteps(simulator: Simulator, cascadeId: string): Promise<CortexTrajectoryStep[]> {
  await simulator.until(
    (report) =>
      report.cascades.some((one) => one.cascadeId === cascadeId && one.status === "idle" && one.turnsEnded > 0),
    patience(),
  );
  const { trajectory, status } = await clientOf(simulator).getCascadeTrajectory({ cascadeId });
  if (status !== CascadeRunStatus.IDLE) throw new Error("the turn goes on");
  return trajectory?.steps ?? [];
}

/** The planner's text, all steps together. */
export function answerOf(steps: readonly CortexTrajectoryStep[]): string {
  return steps.map((step) => (step.step.case === "plannerResponse" ? step.step.value.response : "")).join("");
}

/** The short names of the kinds of steps, in order. */
export function kindsOf(steps: readonly CortexTrajectoryStep[]): string[] {
  return steps.map((step) => step.step.case ?? "none");
}

/** One call as JSON over HTTP/1.1, with any headers. */
export async function postJson(
  simulator: Simulator,
  rpc: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: string; readonly headers: Headers }> {
  const response = await fetch(
    `http://127.0.0.1:${simulator.port}/exa.language_server_pb.LanguageServerService/${rpc}`,
    {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-codeium-csrf-token": simulator.csrfToken.reveal(),
        ...headers,
      },
      body: JSON.stringify(body),
    },
  );
  return { status: response.status, body: await response.text(), headers: response.headers };
}
