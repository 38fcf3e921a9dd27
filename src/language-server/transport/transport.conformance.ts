import type { Message } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import type { GetUserStatusRequest } from "../../proto/windsurf/exa/language_server_pb.ts";
import { translateError, upstreamReason } from "../errors/errors.ts";
import { clientsOf, context, drain, failure, hang, type TransportHarness } from "./transport-client.fake.ts";
import { describeTransportEnds } from "./transport-ends.conformance.ts";

/** The promises of every transport, for every protocol. */
export function describeTransport(name: string, harness: TransportHarness): void {
  const withClient = clientsOf(harness);

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

    it("brings images of any size to the server, in their order", async () => {
      const images = ["aGk=", "", "QUJD".repeat(900_000), "eHl6"].map((base64Data, at) => ({
        base64Data,
        mimeType: `image/${at}`,
      }));
      const seen: unknown[] = [];
      await withClient(
        {
          sendUserCascadeMessage: (message) => {
            seen.push(message.cascadeId, message.images);
            return {};
          },
        },
        async (client) => {
          await client.sendUserCascadeMessage({ cascadeId: "c", images });
          expect(seen).toEqual(["c", images.map((image) => expect.objectContaining(image))]);
        },
      );
    });

    it("leaves the images of steps out of a large binary answer, however it is cut, and nothing else", async () => {
      const user = (...texts: string[]) => {
        const images = texts.map((base64Data) => ({ base64Data }));
        const value = { query: "q", userResponse: "Look.".repeat(20_000), images };
        return { status: 3, step: { case: "userInput", value } } as const;
      };
      const planner = { step: { case: "plannerResponse", value: { response: "é".repeat(600_000) } } } as const;
      const images = ["QUJD".repeat(900_000), "eHl6".repeat(50_000)];
      await withClient(
        { getCascadeTrajectorySteps: () => ({ steps: [planner, user(...images), user(), planner] }) },
        async (client) => {
          const { steps } = await client.getCascadeTrajectorySteps({ cascadeId: "c" });
          const found = steps.map(({ status, step }) => {
            if (step.case === "plannerResponse") return step.value.response.length;
            return step.case === "userInput" && [status, step.value.userResponse.length, step.value.images.length];
          });
          const kept = String(harness.contentType).includes("json") ? images.length : 0;
          expect(found).toEqual([600_000, [3, 100_000, kept], [3, 100_000, 0], 600_000]);
        },
      );
    });

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
  });

  describeTransportEnds(name, harness);
}
