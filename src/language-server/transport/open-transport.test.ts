import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { LanguageServerService } from "../../proto/windsurf/exa/language_server_pb.ts";
import { translateError, upstreamReason } from "../errors/errors.ts";
import { startRpcServer } from "../rpc-server.fake.ts";
import { baseUrl, isLoopback } from "./endpoint.ts";
import { openTransport } from "./open-transport.ts";
import { describeTransport } from "./transport.conformance.ts";

describeTransport("gRPC, h2c", {
  start: (methods) => startRpcServer(methods),
  endpoint: (server) => server.endpoint("grpc"),
  contentType: /application\/grpc\+proto/,
});
describeTransport("gRPC, TLS", {
  start: (methods) => startRpcServer(methods, { tls: true }),
  endpoint: (server) => server.endpoint("grpc"),
  contentType: /application\/grpc\+proto/,
});
describeTransport("Connect binary, HTTP/1.1", {
  start: (methods) => startRpcServer(methods),
  endpoint: (server) => server.endpoint("connect"),
  contentType: /application\/proto/,
});
describeTransport("Connect binary, TLS", {
  start: (methods) => startRpcServer(methods, { tls: true }),
  endpoint: (server) => server.endpoint("connect"),
  contentType: /application\/proto/,
});
describeTransport("Connect JSON, HTTP/1.1", {
  start: (methods) => startRpcServer(methods),
  endpoint: (server) => server.endpoint("connect-json"),
  contentType: /application\/json/,
});
describeTransport("Connect JSON, TLS", {
  start: (methods) => startRpcServer(methods, { tls: true }),
  endpoint: (server) => server.endpoint("connect-json"),
  contentType: /application\/json/,
});

describe("a self-signed certificate", () => {
  it.each(["grpc", "connect"] as const)(
    "is refused over %s from a host that is not loopback by name",
    async (protocol) => {
      await using server = await startRpcServer({ getProcesses: () => ({}) }, { tls: true });
      const endpoint = { ...server.endpoint(protocol), host: "127.1" }; // the same server, under a name that its certificate does not cover
      const open = openTransport(endpoint);
      const error = await createClient(LanguageServerService, open.transport)
        .getProcesses({})
        .then(
          () => undefined,
          (e: unknown) => translateError(e, { nowMs: 0, secrets: [] }),
        );
      open.close();
      expect(error?.code).toBe("upstream_failed");
      expect(upstreamReason(error)).toBe("tls_refused");
      expect(server.requests).toEqual([]);
    },
  );
});

describe("a compressed answer", () => {
  it.each(["grpc", "connect"] as const)("over %s may become as large as the bound, and no larger", async (protocol) => {
    const getCascadeTranscriptForTrajectoryId = () => ({ transcript: "a".repeat(300_000) });
    await using server = await startRpcServer({ getCascadeTranscriptForTrajectoryId }, { gzip: true });
    const ask = async (readMaxBytes: number) => {
      const open = openTransport(server.endpoint(protocol), { readMaxBytes });
      try {
        return await createClient(LanguageServerService, open.transport).getCascadeTranscriptForTrajectoryId({});
      } finally {
        open.close();
      }
    };
    expect((await ask(400_000)).transcript).toHaveLength(300_000);
    const error: unknown = await ask(100_000).catch((refused: unknown) => refused);
    expect(upstreamReason(translateError(error, { nowMs: 0, secrets: [] }))).toBe("answer_too_large");
  });
});

describe("an answer that is not compressed", () => {
  it.each(["grpc", "connect"] as const)("over %s may be as large as the bound to the byte", async (protocol) => {
    const answer = { transcript: "a".repeat(3_000) };
    await using server = await startRpcServer({ getCascadeTranscriptForTrajectoryId: () => answer });
    const { output } = LanguageServerService.method.getCascadeTranscriptForTrajectoryId;
    const bytes = toBinary(output, create(output, answer)).length;
    const ask = async (readMaxBytes: number) => {
      const open = openTransport(server.endpoint(protocol), { readMaxBytes });
      try {
        const client = createClient(LanguageServerService, open.transport);
        return (await client.getCascadeTranscriptForTrajectoryId({})).transcript.length;
      } catch (error) {
        return upstreamReason(translateError(error, { nowMs: 0, secrets: [] }));
      } finally {
        open.close();
      }
    };
    expect([await ask(bytes), await ask(bytes - 1)]).toEqual([3_000, "answer_too_large"]);
  });
});

describe("isLoopback", () => {
  it.each(["127.0.0.1", "127.9.8.7", "::1", "[::1]", "localhost"])("%s is", (host) =>
    expect(isLoopback(host)).toBe(true),
  );
  it.each(["127.0.0.1.example.com", "10.0.0.1", "localhost.evil.example", "::", "", "1270.0.0.1"])(
    "%s is not",
    (host) => expect(isLoopback(host)).toBe(false),
  );
});

describe("baseUrl", () => {
  it("brackets IPv6 addresses once", () => {
    expect(baseUrl({ host: "::1", port: 5, tls: true })).toBe("https://[::1]:5");
    expect(baseUrl({ host: "[::1]", port: 5, tls: false })).toBe("http://[::1]:5");
    expect(baseUrl({ host: "127.0.0.1", port: 5, tls: false })).toBe("http://127.0.0.1:5");
  });
});
