import { randomBytes } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { Secret } from "../../base/secret.ts";
import { translateError, upstreamReason } from "../errors/errors.ts";
import { openTransport } from "./open-transport.ts";
import { clientOf, clientsOf, context, drain, failure, hang, type TransportHarness } from "./transport-client.fake.ts";

/** The cases of `describeTransport` for streams, errors and ends. */
export function describeTransportEnds(name: string, harness: TransportHarness): void {
  const withClient = clientsOf(harness);

  describe(`transport: ${name}`, () => {
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
          expect(error.code).toBe("upstream_failed");
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
