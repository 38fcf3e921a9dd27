import { connect } from "node:net";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LanguageServerService } from "../src/proto/windsurf/exa/language_server_pb.ts";
import { answerOf, clientOf, finalSteps, metadataOf, postJson, send, type Wire } from "./rpc-client.fake.ts";
import { type Simulator, startSimulator } from "./start.ts";

describe("the RPC port", () => {
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator({ turn: { rate: "instant" } });
  });
  afterAll(async () => {
    await simulator.stop();
  });

  it.each<Wire>(["grpc", "grpc-web", "connect", "connect-json", "connect-h2"])("speaks %s", async (wire) => {
    const { userStatus } = await clientOf(simulator, wire).getUserStatus({ metadata: metadataOf(simulator) });
    expect(userStatus?.cascadeModelConfigData?.clientModelConfigs.length).toBeGreaterThan(25);
  });

  it("takes an HTTP/2 preface that comes one byte at a time", async () => {
    const socket = connect(simulator.port, "127.0.0.1");
    socket.setNoDelay(true);
    for (const byte of Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0", "latin1")) {
      await new Promise<void>((resolve) => socket.write(Buffer.from([byte]), () => resolve()));
    }
    const [answer] = await new Promise<[Buffer]>((resolve) => socket.once("data", (data: Buffer) => resolve([data])));
    socket.destroy();
    expect(answer[3]).toBe(4); // the type of a SETTINGS frame
  });

  it("answers an unknown path with 404 before it looks at the token", async () => {
    const answer = await postJson(simulator, "NoSuchMethod", {}, { "x-codeium-csrf-token": "wrong" });
    expect(answer.status).toBe(404);
    expect(answer.body).toBe("404 page not found\n");
  });

  it("answers GET on a known path with 405", async () => {
    const url = `http://127.0.0.1:${simulator.port}/exa.language_server_pb.LanguageServerService/GetUnleashData`;
    expect((await fetch(url)).status).toBe(405);
  });

  it("refuses a wrong or missing token in the form of each protocol", async () => {
    const wrong = await postJson(simulator, "GetUnleashData", {}, { "x-codeium-csrf-token": "wrong" });
    expect(wrong.status).toBe(401);
    expect(JSON.parse(wrong.body)).toEqual({ code: "unauthenticated", message: "invalid CSRF token" });

    const bare = createClient(
      LanguageServerService,
      createGrpcTransport({ baseUrl: `http://127.0.0.1:${simulator.port}` }),
    );
    const error = await bare.getUnleashData({}).catch((cause: unknown) => ConnectError.from(cause));
    expect(error).toMatchObject({ code: Code.Unauthenticated, rawMessage: "missing CSRF token" });
  });

  it("takes metadata without a key for a probe and for nothing else", async () => {
    expect((await postJson(simulator, "GetUnleashData", {})).status).toBe(200);
    const answer = await postJson(simulator, "GetUserStatus", {});
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toEqual({ code: "failed_precondition", message: "api_key not set" });
  });

  it("compresses a large answer for a client that offers gzip, and only then", async () => {
    const metadata = { apiKey: simulator.apiKey.reveal() };
    const zipped = await postJson(simulator, "GetUserStatus", { metadata }, { "accept-encoding": "gzip" });
    expect(zipped.headers.get("content-encoding")).toBe("gzip");
    const plain = await postJson(simulator, "GetUserStatus", { metadata }, { "accept-encoding": "identity" });
    expect(plain.headers.get("content-encoding")).toBeNull();
  });

  it("refuses a unary call with a streaming content type", async () => {
    const answer = await postJson(simulator, "StartCascade", {}, { "content-type": "application/connect+proto" });
    expect(answer.status).toBe(415);
  });

  it("lets two other ports accept connections and speak something else", async () => {
    for (const port of simulator.otherPorts) {
      const socket = connect(port, "127.0.0.1", () => socket.write("POST / HTTP/1.1\r\n\r\n"));
      const [data] = await new Promise<[Buffer]>((resolve) => socket.once("data", (got: Buffer) => resolve([got])));
      expect(data.toString()).toMatch(/^Content-Length: /);
      socket.destroy();
    }
  });

  it("sends the same answer over every protocol", async () => {
    const cascadeId = await send(simulator, "echo: water under the wheel");
    expect(answerOf(await finalSteps(simulator, cascadeId))).toBe("water under the wheel");
    for (const wire of ["grpc-web", "connect", "connect-json", "connect-h2"] as const) {
      const { steps } = await clientOf(simulator, wire).getCascadeTrajectorySteps({ cascadeId });
      expect(answerOf(steps)).toBe("water under the wheel");
    }
  });

  it("answers an unknown enum name in JSON with 400", async () => {
    const body = { cascadeConfig: { plannerConfig: { planModelDeprecated: "MODEL_NO_SUCH" } } };
    expect((await postJson(simulator, "SendUserCascadeMessage", body)).status).toBe(400);
  });
});
