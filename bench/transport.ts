import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { fakeEndpoint } from "../src/language-server/transport/endpoint.fake.ts";
import type { WireProtocol } from "../src/language-server/transport/endpoint.ts";
import { openTransport } from "../src/language-server/transport/open-transport.ts";
import { LanguageServerService } from "../src/proto/windsurf/exa/language_server_pb.ts";

/**
 * What one poll costs the process that makes it: the same call through Connect's transports and through ours, in turns, against a
 * server in a process of its own that answers fixed bytes. CPU of user and system time, per call, in microseconds.
 */
const callsPerRound = Number(process.env["BENCH_CALLS"] ?? 4_000);
const rounds = 5;
const lanes = Number(process.env["BENCH_LANES"] ?? 16);
const method = LanguageServerService.method.getCascadeTrajectorySteps;
const answer = create(method.output, {
  steps: [
    { step: { case: "userInput", value: { userResponse: "A question." } } },
    { step: { case: "plannerResponse", value: { response: "All work and no play. ".repeat(40) } } },
  ],
});

if (process.argv[2] === "server") {
  serve();
} else {
  await measure();
}

function serve(): void {
  const message = Buffer.from(toBinary(method.output, answer));
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, 5);
  const json = Buffer.from(toJsonString(method.output, answer));
  const h2 = createHttp2Server();
  h2.on("stream", (stream) => {
    stream.resume();
    stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(frame);
  });
  let connections = 0;
  const h1 = createHttpServer((request, response) => {
    const binary = request.headers["content-type"] === "application/proto";
    request.resume();
    response.writeHead(200, { "content-type": binary ? "application/proto" : "application/json" });
    response.end(binary ? message : json);
  });
  h1.on("connection", () => connections++);
  process.on("message", () => process.send?.({ connections }));
  h2.listen(0, "127.0.0.1", () => {
    h1.listen(0, "127.0.0.1", () => {
      process.send?.({ h2: (h2.address() as AddressInfo).port, h1: (h1.address() as AddressInfo).port });
    });
  });
}

async function measure(): Promise<void> {
  const server = fork(import.meta.filename, ["server"]);
  const [{ h2, h1 }] = (await once(server, "message")) as [{ h2: number; h1: number }];
  try {
    for (const protocol of ["grpc", "connect", "connect-json"] as const) {
      const port = protocol === "grpc" ? h2 : h1;
      const lean = openTransport(fakeEndpoint(port, protocol));
      const ways: [string, Transport][] = [
        ["Connect", theirs(protocol, port)],
        ["ours", lean.transport],
      ];
      const costs = new Map<string, number[]>(ways.map(([name]) => [name, []]));
      for (const [, transport] of ways) await run(transport, callsPerRound);
      for (let round = 0; round < rounds; round++) {
        for (const [name, transport] of ways) costs.get(name)?.push(await run(transport, callsPerRound));
      }
      const median = (name: string) => costs.get(name)?.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN;
      const [before, after] = [median("Connect"), median("ours")];
      console.log(
        `${protocol.padEnd(14)} Connect ${before.toFixed(0)} us, ours ${after.toFixed(0)} us, x${(after / before).toFixed(2)}`,
      );
      lean.close();
    }
  } finally {
    server.kill();
  }
  process.exit();
}

/** As the gateway opened them before: see the history of `open-transport.ts`. */
function theirs(protocol: WireProtocol, port: number): Transport {
  const common = {
    baseUrl: `http://127.0.0.1:${port}`,
    interceptors: [],
    acceptCompression: [compressionGzip],
    readMaxBytes: 64 * 1024 * 1024,
  };
  if (protocol === "grpc") return createGrpcTransport(common);
  return createConnectTransport({ ...common, httpVersion: "1.1", useBinaryFormat: protocol === "connect" });
}

/** CPU microseconds per call. */
async function run(transport: Transport, calls: number): Promise<number> {
  const client = createClient(LanguageServerService, transport);
  const { signal } = new AbortController();
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let i = 0; i < calls / lanes; i++) {
        await client.getCascadeTrajectorySteps({ cascadeId: "c", stepOffset: 1 }, { signal, timeoutMs: 10_000 });
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}
