import { once } from "node:events";
import { createServer as createHttp1 } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { translateError } from "../../../src/language-server/errors/errors.ts";
import { fakeEndpoint } from "../../../src/language-server/transport/endpoint.fake.ts";
import { openTransport } from "../../../src/language-server/transport/open-transport.ts";
import {
  GetCascadeTrajectoryStepsResponseSchema,
  GetCascadeTranscriptForTrajectoryIdResponseSchema,
  LanguageServerService,
} from "../../../src/proto/windsurf/exa/language_server_pb.ts";
import type { Target } from "../target.ts";

/** What answers over a socket: the first byte says how it lies, the rest is the body. */
interface Lying {
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly body: Uint8Array;
  /** The body is sent again and again, until the client has had enough. */
  readonly endless: boolean;
  readonly isCut: boolean;
}

const readMaxBytes = 1 << 20;
const bomb = gzipSync(Buffer.alloc(64 * readMaxBytes));

function lyingOf(input: Uint8Array, protocol: "grpc" | "connect"): Lying {
  const [form = 0, ...rest] = input;
  const zipped = (form & 1) !== 0;
  const payload = (form & 2) !== 0 ? bomb : zipped ? gzipSync(Buffer.from(rest)) : Buffer.from(rest);
  const length = Buffer.alloc(5);
  length[0] = zipped || (form & 2) !== 0 ? 1 : 0;
  length.writeUInt32BE((form & 4) !== 0 ? 0xffff_fff0 : payload.length, 1);
  const type = protocol === "grpc" ? "application/grpc+proto" : "application/proto";
  const encoding = protocol === "grpc" ? "grpc-encoding" : "content-encoding";
  return {
    headers: {
      "content-type": (form & 8) !== 0 ? "text/html" : type,
      ...(length[0] === 1 ? { [encoding]: (form & 16) !== 0 ? "br" : "gzip" } : {}),
    },
    status: (form & 32) !== 0 ? 500 : 200,
    body: protocol === "grpc" && (form & 64) === 0 ? Buffer.concat([length, payload]) : payload,
    endless: (form & 128) !== 0,
    isCut: (form & 24) === 24,
  };
}

let current = new Uint8Array();

interface Sink {
  write(chunk: Uint8Array): boolean;
  end(): unknown;
  destroy(): unknown;
  once(event: "drain" | "close", listener: () => void): unknown;
  readonly destroyed: boolean;
}

async function send(sink: Sink, { body, endless, isCut }: Lying): Promise<void> {
  const closed = new Promise<void>((go) => sink.once("close", go));
  for (let more = true; more; more = endless) {
    if (sink.destroyed) return;
    if (!sink.write(body.length === 0 ? Buffer.of(0) : body) && !sink.destroyed)
      await Promise.race([closed, new Promise<void>((go) => sink.once("drain", go))]);
  }
  if (isCut) sink.destroy();
  else sink.end();
}

const http2 = createHttp2().on("stream", (stream) => {
  stream.on("error", () => {}); // the client has had enough
  stream.resume();
  const lying = lyingOf(current, "grpc");
  stream.respond({ ":status": lying.status, ...lying.headers }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  void send(stream, lying);
});
const http1 = createHttp1((request, response) => {
  response.on("error", () => {});
  request.resume();
  const lying = lyingOf(current, "connect");
  response.writeHead(lying.status, lying.headers);
  void send(response, lying);
});

async function clientOf(protocol: "grpc" | "connect") {
  const server = protocol === "grpc" ? http2 : http1;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const { transport } = openTransport(fakeEndpoint(port, protocol), { readMaxBytes });
  return createClient(LanguageServerService, transport);
}

const answers = [
  toBinary(
    GetCascadeTranscriptForTrajectoryIdResponseSchema,
    create(GetCascadeTranscriptForTrajectoryIdResponseSchema, {
      transcript: "=== MESSAGE 1 - Assistant ===\nhi",
      numTotalSteps: 3,
    }),
  ),
  toBinary(
    GetCascadeTrajectoryStepsResponseSchema,
    create(GetCascadeTrajectoryStepsResponseSchema, {
      steps: [{ step: { case: "userInput", value: { userResponse: "hello" } } }],
    }),
  ),
];

function server(protocol: "grpc" | "connect"): Target {
  let client: ReturnType<typeof clientOf> | undefined;
  return {
    name: `language server over ${protocol}`,
    form: "bytes",
    seeds: () =>
      [0, 1, 2, 4, 8, 17, 24, 32, 64, 128, 130].flatMap((form) =>
        answers.map((answer) => Buffer.concat([Buffer.of(form), answer])),
      ),
    async run(input) {
      current = Uint8Array.from(input);
      const calls = await (client ??= clientOf(protocol));
      const options = { timeoutMs: 5_000 };
      await Promise.all([
        calls.getCascadeTranscriptForTrajectoryId({ cascadeId: "c" }, options).catch(clear),
        calls.getCascadeTrajectorySteps({ cascadeId: "c" }, options).catch(clear),
      ]);
    },
  };
}

const context = { nowMs: 1_750_000_000_000, secrets: [] };

/** The error as the user would have it: one that nothing explains is a finding. */
function clear(error: unknown): never {
  throw translateError(error, context);
}

/** A server that lies about lengths, sends without end, and packs much into little. */
export const serverTargets: readonly Target[] = [server("grpc"), server("connect")];
