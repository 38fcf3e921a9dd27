import { randomBytes } from "node:crypto";
import type { Message } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import { type GetUserStatusRequest, LanguageServerService } from "../../proto/windsurf/exa/language_server_pb.ts";
import { translateError, upstreamReason } from "../errors/errors.ts";
import type { FakeMethods, RpcServer } from "../rpc-server.fake.ts";
import type { Endpoint } from "./endpoint.ts";
import { openTransport, type TransportOptions } from "./open-transport.ts";

/** One way to a server. `start` gives every case a new server. */
export interface TransportHarness {
  start(methods: FakeMethods): Promise<RpcServer>;
  endpoint(server: RpcServer): Endpoint;
  /** How the requests announce themselves. */
  readonly contentType: RegExp;
}

const context = { nowMs: 0, secrets: [] };

/** The promises of every transport, for every protocol. */
export function describeTransport(name: string, harness: TransportHarness): void {
  async function withClient<T>(
    methods: FakeMethods,
    use: (client: Client<typeof LanguageServerService>, server: RpcServer) => Promise<T>,
    options: TransportOptions & { readonly endpoint?: Partial<Endpoint> } = {},
  ): Promise<T> {
    await using server = await harness.start(methods);
    const open = openTransport({ ...harness.endpoint(server), ...options.endpoint }, options);
    try {
      return await use(clientOf(open.transport), server);
    } finally {
      open.close();
    }
  }

  describe(`transport: ${name}`, () => {
    it("answers a unary call, in its own content type and with the CSRF token", () =>
      withClient({ getProcesses: () => ({ lspPort: 42 }) }, async (client, server) => {
        expect((await client.getProcesses({})).lspPort).toBe(42);
        expect(server.requests[0]).toMatch(harness.contentType);
      }));

    it("keeps every field of a request and of an answer, also 64-bit numbers and oneofs", () =>
      withClient(
        {
          getUserStatus: ({ metadata }) => ({
            userStatus: { name: `${metadata?.apiKey}`, userUsedPromptCredits: metadata?.requestId ?? 0n },
          }),
        },
        async (client) => {
          const { userStatus } = await client.getUserStatus({ metadata: { apiKey: "k", requestId: 2n ** 53n + 1n } });
          expect(userStatus?.name).toBe("k");
          expect(userStatus?.userUsedPromptCredits).toBe(2n ** 53n + 1n);
        },
      ));

    it("uses one connection for calls that follow one another", () =>
      withClient({ getProcesses: () => ({}) }, async (client, server) => {
        for (let i = 0; i < 5; i++) await client.getProcesses({});
        expect(server.connections()).toBe(1);
      }));

    it("keeps open the connections that calls at once needed, and makes no more for the next ones", () =>
      withClient({ getProcesses: () => ({}) }, async (client, server) => {
        for (let round = 0; round < 5; round++) {
          await Promise.all(Array.from({ length: 40 }, () => client.getProcesses({})));
        }
        expect(server.connections()).toBeLessThanOrEqual(40);
      }));

    it("asks who holds the port once per connection, before anything is sent over it", async () => {
      const asked = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      let checks = 0;
      const checkHolder = () => {
        checks++;
        asked.resolve();
        return gate.promise;
      };
      await withClient(
        { getProcesses: () => ({ lspPort: 7 }) },
        async (client, server) => {
          const call = client.getProcesses({});
          await asked.promise;
          expect([server.connections(), server.requests.length]).toEqual([1, 0]);
          gate.resolve();
          expect((await call).lspPort).toBe(7);
          for (let i = 0; i < 5; i++) await client.getProcesses({});
          expect(checks).toBe(1);
          server.dropConnections();
          await client.getProcesses({}).catch(() => client.getProcesses({})); // the drop may be noticed by the first
          expect(checks).toBe(2);
        },
        { checkHolder },
      );
    });

    it("sends nothing, also no stream, where the port is not held by the right process", () =>
      withClient(
        { getProcesses: () => ({}), rawGetChatMessage: async function* () {} },
        async (client, server) => {
          for (const call of [() => client.getProcesses({}), () => drain(client.rawGetChatMessage({}))]) {
            expect(translateError(await failure(call()), context)).toMatchObject({
              code: "ide_not_running",
              message: "held by another",
            });
          }
          expect(server.requests).toEqual([]);
        },
        { checkHolder: () => Promise.reject(new MillraceError("ide_not_running", "held by another")) },
      ));

    it("stamps every request once, in the order in which they reach the server, however many begin at once", () => {
      const seen: bigint[] = [];
      let next = 0n;
      const stamp = (request: Message) => {
        const { metadata } = request as GetUserStatusRequest; // the one call made here
        if (metadata !== undefined) metadata.requestId = ++next;
      };
      return withClient(
        {
          getUserStatus: ({ metadata }) => {
            seen.push(metadata?.requestId ?? 0n);
            return {};
          },
        },
        async (client) => {
          for (let round = 0; round < 3; round++) {
            await Promise.all(Array.from({ length: 64 }, () => client.getUserStatus({ metadata: { apiKey: "k" } })));
          }
          const rising = Array.from({ length: 192 }, (_, i) => BigInt(i + 1));
          expect(seen).toEqual(rising);
        },
        { stamp },
      );
    });

    it("writes them in order although no answer begins before all of them, and a stream among them", async () => {
      const seen: bigint[] = [];
      const all = Promise.withResolvers<void>();
      const note = async (metadata: { readonly requestId: bigint } | undefined) => {
        seen.push(metadata?.requestId ?? 0n);
        if (seen.length === 64) all.resolve();
        await all.promise;
      };
      let next = 0n;
      const stamp = (request: Message) => {
        const { metadata } = request as GetUserStatusRequest; // both calls made here have it
        if (metadata !== undefined) metadata.requestId = ++next;
      };
      await withClient(
        {
          getUserStatus: async ({ metadata }) => {
            await note(metadata);
            return {};
          },
          async *rawGetChatMessage({ metadata }) {
            await note(metadata);
            yield {};
          },
        },
        async (client) => {
          const metadata = { apiKey: "k" };
          const call = (index: number) =>
            index === 20 ? drain(client.rawGetChatMessage({ metadata })) : client.getUserStatus({ metadata });
          await Promise.all(Array.from({ length: 64 }, (_, index) => call(index)));
          expect(seen).toEqual(Array.from({ length: 64 }, (_, index) => BigInt(index + 1)));
        },
        { stamp },
      );
    });

    it("lets calls without an id pass while one with an id waits for its answer", () => {
      const release = Promise.withResolvers<void>();
      return withClient(
        {
          getUserStatus: async () => {
            await release.promise;
            return {};
          },
          getProcesses: () => ({ lspPort: 7 }),
        },
        async (client) => {
          const slow = client.getUserStatus({ metadata: {} });
          expect((await client.getProcesses({})).lspPort).toBe(7);
          release.resolve();
          await slow;
        },
        { stamp: () => {} },
      );
    });

    it("continues with the next request when a waiting one is given up", () =>
      withClient(
        { getUserStatus: (_, { signal }) => hang(signal) },
        async (client, server) => {
          const controller = new AbortController();
          const calls = Array.from({ length: 8 }, () =>
            failure(client.getUserStatus({ metadata: {} }, { signal: controller.signal })),
          );
          controller.abort(new Error("enough"));
          await Promise.all(calls);
          const error = translateError(await failure(client.getUserStatus({}, { timeoutMs: 300 })), context);
          expect(error.code).toBe("upstream_timeout");
          expect(server.requests.length).toBeLessThanOrEqual(9);
        },
        { stamp: () => {} },
      ));

    it("carries many calls at once", () =>
      withClient({ getProcesses: () => ({ lspPort: 7 }) }, async (client) => {
        const answers = await Promise.all(Array.from({ length: 60 }, () => client.getProcesses({})));
        expect(answers.every((answer) => answer.lspPort === 7)).toBe(true);
      }));

    it("takes large answers, also compressed ones", () => {
      const transcript = "All work and no play. ".repeat(100_000);
      return withClient(
        { getCascadeTranscriptForTrajectoryId: () => ({ transcript, numTotalSteps: 3 }) },
        async (client) => {
          expect((await client.getCascadeTranscriptForTrajectoryId({})).transcript).toBe(transcript);
        },
      );
    });

    it("refuses an answer larger than the bound, for any compressed size", () =>
      withClient(
        { getCascadeTranscriptForTrajectoryId: () => ({ transcript: "a".repeat(300_000) }) },
        async (client) => {
          const error = await failure(client.getCascadeTranscriptForTrajectoryId({}));
          expect(upstreamReason(translateError(error, context))).toBe("answer_too_large");
        },
        { readMaxBytes: 100_000 },
      ));

    it("streams messages one by one, as they are sent", () => {
      const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      return withClient(
        {
          async *rawGetChatMessage() {
            yield { deltaMessage: { text: "a" } };
            await gates[0]?.promise;
            yield { deltaMessage: { text: "b" } };
            await gates[1]?.promise;
          },
        },
        async (client) => {
          const seen: string[] = [];
          let open = 0;
          for await (const { deltaMessage } of client.rawGetChatMessage({})) {
            seen.push(deltaMessage?.text ?? "");
            gates[open++]?.resolve(); // the server goes on only because this message came through
          }
          expect(seen).toEqual(["a", "b"]);
        },
      );
    });

    it("gives code and text of an error, before and after the first message of a stream", () =>
      withClient(
        {
          getProcesses: () => {
            throw new ConnectError("panel state not found — 中文", Code.NotFound);
          },
          async *rawGetChatMessage() {
            yield { deltaMessage: { text: "a" } };
            throw new ConnectError("pending stream has been canceled", Code.Unavailable);
          },
        },
        async (client) => {
          const unary = ConnectError.from(await failure(client.getProcesses({})));
          expect([unary.code, unary.rawMessage]).toEqual([Code.NotFound, "panel state not found — 中文"]);
          const stream = ConnectError.from(await failure(drain(client.rawGetChatMessage({}))));
          expect([stream.code, stream.rawMessage]).toEqual([Code.Unavailable, "pending stream has been canceled"]);
        },
      ));

    it("says that a call is not implemented", () =>
      withClient({}, async (client) => {
        const error = translateError(await failure(client.getProcesses({})), context);
        expect(upstreamReason(error)).toBe("not_implemented");
      }));

    it("says that the CSRF token is wrong", () =>
      withClient(
        { getProcesses: () => ({}) },
        async (client) => {
          const error = translateError(await failure(client.getProcesses({})), context);
          expect(error.code).toBe("unauthenticated");
          expect(upstreamReason(error)).toBe("csrf_refused");
        },
        { endpoint: { csrfToken: new Secret("another") } },
      ));

    it("ends a call at its deadline, and cancels it at the server", () => {
      const aborted = Promise.withResolvers<void>();
      const calls = { entered: 0 };
      const getProcesses = (_: unknown, context: { readonly signal: AbortSignal }) => {
        calls.entered++;
        return hang(context.signal, aborted.resolve);
      };
      return withClient({ getProcesses }, async (client) => {
        // On a busy machine a short deadline can pass before the server has the call.
        for (let timeoutMs = 50; calls.entered === 0; timeoutMs *= 2) {
          const error = translateError(await failure(client.getProcesses({}, { timeoutMs })), context);
          expect(error.code).toBe("upstream_timeout");
        }
        await aborted.promise;
      });
    });

    it("ends a call when its signal aborts, and cancels it at the server", () => {
      const entered = Promise.withResolvers<void>();
      const aborted = Promise.withResolvers<void>();
      return withClient(
        {
          getProcesses: (_, context) => {
            entered.resolve();
            return hang(context.signal, aborted.resolve);
          },
        },
        async (client) => {
          const controller = new AbortController();
          const call = failure(client.getProcesses({}, { signal: controller.signal }));
          await entered.promise;
          controller.abort(new Error("enough"));
          expect(translateError(await call, context, controller.signal).code).toBe("cancelled");
          await aborted.promise;
        },
      );
    });

    it("ends a call when the connection breaks, and the next one gets a new connection", () => {
      const entered = Promise.withResolvers<void>();
      let calls = 0;
      return withClient(
        {
          getProcesses: (_, context) => {
            if (++calls > 1) return { lspPort: calls };
            entered.resolve();
            return hang(context.signal);
          },
        },
        async (client, server) => {
          const call = failure(client.getProcesses({}));
          await entered.promise;
          server.dropConnections();
          expect(upstreamReason(translateError(await call, context))).toBe("connection_lost");
          expect((await client.getProcesses({})).lspPort).toBe(2);
        },
      );
    });

    it("says that nothing listens", async () => {
      const server = await harness.start({});
      const endpoint = harness.endpoint(server);
      await server[Symbol.asyncDispose]();
      const open = openTransport(endpoint);
      const error = translateError(await failure(clientOf(open.transport).getProcesses({})), context);
      open.close();
      expect(error.code).toBe("ide_not_running");
      expect(upstreamReason(error)).toBe("connection_refused");
    });

    it("ends what runs when it is closed", async () => {
      const entered = Promise.withResolvers<void>();
      await using server = await harness.start({
        getProcesses: (_, context) => {
          entered.resolve();
          return hang(context.signal);
        },
      });
      const open = openTransport(harness.endpoint(server));
      const call = failure(clientOf(open.transport).getProcesses({}));
      await entered.promise;
      open.close();
      expect(await call).toBeInstanceOf(Error);
    });

    it("passes bytes that no text can hold", () => {
      const bytes = randomBytes(4096);
      return withClient(
        { getCascadeTrajectory: () => ({ trajectory: { virtualFsSerializedOverlay: bytes } }) },
        async (client) => {
          const { trajectory } = await client.getCascadeTrajectory({});
          expect(Buffer.from(trajectory?.virtualFsSerializedOverlay ?? []).equals(bytes)).toBe(true);
        },
      );
    });
  });
}

function clientOf(transport: Transport): Client<typeof LanguageServerService> {
  return createClient(LanguageServerService, transport);
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("expected a failure");
}

function hang(signal: AbortSignal, onAbort: () => void = () => {}): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => {
      onAbort();
      reject(new ConnectError("gone", Code.Canceled));
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
