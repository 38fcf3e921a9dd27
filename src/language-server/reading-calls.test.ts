import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { CascadeId } from "../base/ids.ts";
import { upstreamReason } from "./errors/errors.ts";
import type { FakeMethods } from "./rpc-server.fake.ts";
import { cascadeId, failureOf, firstOf, never, panel, withServer } from "./served-client.fake.ts";

describe("reading calls", () => {
  it.each(["grpc", "connect", "connect-json"] as const)(
    "are repeated over %s when the connection broke",
    async (protocol) => {
      let asked = 0;
      const methods: FakeMethods = {
        getCascadeTrajectorySteps: () => {
          if (++asked < 3) throw new ConnectError("pending stream has been canceled", Code.Unavailable);
          return { steps: [{}] };
        },
      };
      await withServer(methods, async (server) => expect(await server.getSteps(cascadeId, 0, never)).toHaveLength(1), {
        protocol,
      });
      expect(asked).toBe(3);
    },
  );

  it("are not repeated for ever", async () => {
    let asked = 0;
    const methods: FakeMethods = {
      getCascadeTrajectory: () => {
        asked++;
        throw new ConnectError("down", Code.Unavailable);
      },
    };
    await withServer(methods, async (server) => {
      expect((await failureOf(server.getStatus(cascadeId, never))).code).toBe("upstream_failed");
    });
    expect(asked).toBe(3);
  });

  it("are not repeated after a refusal", async () => {
    let asked = 0;
    const methods: FakeMethods = {
      getUserStatus: () => {
        asked++;
        throw new ConnectError("Reached message rate limit for this model. Resets in: 1m0s", Code.ResourceExhausted);
      },
    };
    await withServer(methods, async (server) => {
      const error = await failureOf(server.getUserStatus(never));
      expect([error.code, error.retryAfterMs]).toEqual(["rate_limited", 60_000]);
    });
    expect(asked).toBe(1);
  });

  it("drop the steps of a status and keep its numbers and how executions ended", async () => {
    const methods: FakeMethods = {
      getCascadeTrajectory: () => ({
        status: 2,
        numTotalSteps: 7,
        trajectory: { steps: [{}, {}], executorMetadatas: [{ terminationReason: 4, lastStepIdx: 6 }] },
      }),
    };
    for (const protocol of ["grpc", "connect-json"] as const) {
      await withServer(
        methods,
        async (server) =>
          expect(await server.getStatus(cascadeId, never)).toMatchObject({
            status: 2,
            totalSteps: 7,
            executors: [{ terminationReason: 4, lastStepIdx: 6 }],
          }),
        { protocol },
      );
    }
  });

  it("end at their deadline", async () => {
    await withServer(
      { getCascadeTrajectory: () => new Promise(() => {}) },
      async (server) => expect((await failureOf(server.getStatus(cascadeId, never))).code).toBe("upstream_timeout"),
      { deadlines: { read: 30 } },
    );
  });

  it("refuse answers larger than the bound", async () => {
    await withServer(
      { getCascadeTranscriptForTrajectoryId: () => ({ transcript: "a".repeat(10_000) }) },
      async (server) =>
        expect(upstreamReason(await failureOf(server.getTranscript(cascadeId, 0, never)))).toBe("answer_too_large"),
      { readMaxBytes: 5_000 },
    );
  });

  it("take the plan from beside the account where the server puts it there", async () => {
    const methods: FakeMethods = {
      getUserStatus: () => ({ userStatus: { planStatus: {} }, planInfo: { planName: "Pro" } }),
    };
    await withServer(methods, async (server) =>
      expect((await server.getUserStatus(never)).planStatus?.planInfo?.planName).toBe("Pro"),
    );
  });
});

describe("archive", () => {
  it("archives, and says that it does", async () => {
    const seen: boolean[] = [];
    const methods: FakeMethods = {
      archiveCascadeTrajectory: (request) => {
        seen.push(request.isArchived);
        return {};
      },
    };
    await withServer(methods, (server) => server.archive(cascadeId, never));
    expect(seen).toEqual([true]);
  });

  it("deletes where a build cannot archive, but only what it started itself", async () => {
    const deleted: string[] = [];
    const methods: FakeMethods = {
      ...panel,
      startCascade: () => ({ cascadeId }),
      deleteCascadeTrajectory: (request) => {
        deleted.push(request.cascadeId);
        return {};
      },
    };
    await withServer(methods, async (server) => {
      const own = await server.startCascade(never);
      await server.archive("somebody-elses" as CascadeId, never);
      await server.archive(own, never);
      await server.archive(own, never);
    });
    expect(deleted).toEqual([cascadeId]);
  });
});

describe("rawChat", () => {
  const chat = {
    instructions: "Be brief.",
    messages: [
      { role: "user", text: "Hi" },
      { role: "assistant", text: "Hello" },
      { role: "user", text: "Bye" },
    ],
    modelNumber: 391,
    modelName: "MODEL_CLAUDE_4_5_OPUS",
  } as const;

  it("sends users' texts as intents and the model's as actions, and yields what comes", async () => {
    const kinds: (string | undefined)[] = [];
    const methods: FakeMethods = {
      async *rawGetChatMessage(request) {
        kinds.push(...request.chatMessages.map((m) => m.content.case), request.systemPromptOverride);
        yield { deltaMessage: { text: "So" } };
        yield {};
        yield { deltaMessage: { text: " long", inProgress: false } };
      },
    };
    const texts: string[] = [];
    await withServer(methods, async (server) => {
      for await (const delta of server.rawChat(chat, never)) texts.push(delta.text);
    });
    expect(kinds).toEqual(["intent", "action", "intent", "Be brief."]);
    expect(texts).toEqual(["So", " long"]);
  });

  it("throws an in-band error as one of ours", async () => {
    const methods: FakeMethods = {
      async *rawGetChatMessage() {
        yield {
          deltaMessage: {
            isError: true,
            text: "There was an error with your Cascade session, please update your editor (error ID: ab12) (trace ID: cd34)",
          },
        };
      },
    };
    await withServer(methods, async (server) => {
      const error = await failureOf(firstOf(server.rawChat(chat, never)));
      expect(error.code).toBe("upstream_failed");
      expect(error.details).toEqual({ reason: "session_refused", errorId: "ab12", traceId: "cd34" });
    });
  });

  it("ends the server's stream when its reader goes away", async () => {
    const gone = Promise.withResolvers<void>();
    const methods: FakeMethods = {
      async *rawGetChatMessage(_, context) {
        context.signal.addEventListener("abort", () => gone.resolve());
        yield { deltaMessage: { text: "a" } };
        await gone.promise;
      },
    };
    await withServer(methods, async (server) => {
      for await (const _ of server.rawChat(chat, never)) break;
      await expect(gone.promise).resolves.toBeUndefined();
    });
  });
});
