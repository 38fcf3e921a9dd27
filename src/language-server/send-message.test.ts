import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { ConversationalPlannerMode } from "../proto/windsurf/exa/codeium_common_pb.ts";
import type { SendUserCascadeMessageRequest } from "../proto/windsurf/exa/language_server_pb.ts";
import { callFailure } from "./errors/call-failure.ts";
import { upstreamReason } from "./errors/errors.ts";
import type { FakeMethods } from "./rpc-server.fake.ts";
import { cascadeId, failureOf, message, never, panel, withServer } from "./served-client.fake.ts";

/** A server that accepts each message, and the messages that it got. */
function recordedMessages() {
  const seen: SendUserCascadeMessageRequest[] = [];
  const methods: FakeMethods = {
    ...panel,
    sendUserCascadeMessage: (request) => {
      seen.push(request);
      return {};
    },
  };
  return { seen, methods };
}

describe("sendUserMessage", () => {
  it("asks a planner without tools, naming the model by every selector", async () => {
    const { seen, methods } = recordedMessages();
    await withServer(methods, (server) => server.sendUserMessage(message, never));
    const planner = seen[0]?.cascadeConfig?.plannerConfig;
    expect(seen[0]?.items[0]?.chunk).toEqual({ case: "text", value: "Why is the sky blue?" });
    expect(seen[0]?.images[0]).toMatchObject({ base64Data: "aGk=", mimeType: "image/png" });
    expect(planner?.plannerTypeConfig.case).toBe("conversational");
    expect(planner?.plannerTypeConfig.value).toMatchObject({
      plannerMode: ConversationalPlannerMode.NO_TOOL,
      additionalInstructionsSection: { mode: 1, content: "Answer in one line." },
    });
    expect(planner).toMatchObject({
      requestedModelUid: "MODEL_CLAUDE_4_5_OPUS",
      planModelUid: "MODEL_CLAUDE_4_5_OPUS",
      planModelDeprecated: 391,
      requestedModelDeprecated: { choice: { case: "model", value: 391 } },
      maxOutputTokens: 4096,
      toolConfig: { runCommand: { forceDisable: true }, mcp: { forceDisable: true } },
    });
  });

  it("leaves out what is not known: number, limit, instructions", async () => {
    const { seen, methods } = recordedMessages();
    await withServer(methods, (server) =>
      server.sendUserMessage(
        { ...message, instructions: "", modelNumber: undefined, maxOutputTokens: undefined },
        never,
      ),
    );
    const planner = seen[0]?.cascadeConfig?.plannerConfig;
    expect(planner?.requestedModelDeprecated).toBeUndefined();
    expect(planner?.planModelDeprecated).toBe(0);
    expect(planner?.maxOutputTokens).toBe(0);
    expect(planner?.plannerTypeConfig.value).toMatchObject({ plannerMode: ConversationalPlannerMode.NO_TOOL });
    expect(planner?.plannerTypeConfig.value).not.toHaveProperty("additionalInstructionsSection.content");
  });

  it.each([Code.Unavailable, Code.Internal, Code.NotFound, Code.Aborted])(
    "is never sent twice, also after status %i",
    async (code) => {
      let sent = 0;
      const methods: FakeMethods = {
        ...panel,
        sendUserCascadeMessage: () => {
          sent++;
          throw new ConnectError("panel state not found", code);
        },
      };
      await withServer(methods, async (server) => {
        const error = await failureOf(server.sendUserMessage(message, never));
        expect(upstreamReason(error)).toBe("panel_state_lost");
        expect(callFailure(error)).toBe("panel_state_missing");
      });
      expect(sent).toBe(1);
    },
  );

  it("is never sent twice when the connection breaks", async () => {
    let sent = 0;
    const received = Promise.withResolvers<void>();
    const methods: FakeMethods = {
      ...panel,
      sendUserCascadeMessage: () => {
        sent++;
        received.resolve();
        return new Promise(() => {});
      },
    };
    await withServer(methods, async (server, rpc) => {
      const sending = failureOf(server.sendUserMessage(message, never));
      await received.promise;
      rpc.dropConnections();
      const error = await sending;
      expect([upstreamReason(error), callFailure(error)]).toEqual(["connection_lost", "interrupted"]);
    });
    expect(sent).toBe(1);
  });
});

describe("panel state", () => {
  it("is made once for any number of concurrent callers, again where it is forced, and trusts the workspace", async () => {
    let made = 0;
    const gate = Promise.withResolvers<void>();
    const methods: FakeMethods = {
      initializeCascadePanelState: async (request) => {
        made++;
        expect(request.workspaceTrusted).toBe(true);
        await gate.promise;
        return {};
      },
    };
    await withServer(methods, async (server) => {
      const all = Array.from({ length: 20 }, () => server.ensurePanelState({ force: false }, never));
      gate.resolve();
      await Promise.all(all);
      await server.ensurePanelState({ force: false }, never);
      expect(made).toBe(1);
      await Promise.all([1, 2, 3].map(() => server.ensurePanelState({ force: true }, never)));
    });
    expect(made).toBe(2);
  });

  it("survives that one of its callers gives up", async () => {
    const gate = Promise.withResolvers<void>();
    let made = 0;
    const methods: FakeMethods = {
      initializeCascadePanelState: async () => {
        made++;
        await gate.promise;
        return {};
      },
    };
    await withServer(methods, async (server) => {
      const quitter = new AbortController();
      const first = failureOf(server.ensurePanelState({ force: false }, quitter.signal));
      const second = server.ensurePanelState({ force: false }, never);
      quitter.abort(new Error("enough"));
      expect((await first).code).toBe("cancelled");
      gate.resolve();
      await second;
    });
    expect(made).toBe(1);
  });

  it("is made again before the next cascade when the server lost it", async () => {
    let made = 0;
    let asked = 0;
    const methods: FakeMethods = {
      initializeCascadePanelState: () => {
        made++;
        return {};
      },
      startCascade: () => {
        if (++asked === 1) throw new ConnectError("panel state not found", Code.NotFound);
        return { cascadeId };
      },
    };
    await withServer(methods, async (server) => {
      expect(upstreamReason(await failureOf(server.startCascade(never)))).toBe("panel_state_lost");
      expect(await server.startCascade(never)).toBe(cascadeId);
    });
    expect([made, asked]).toEqual([2, 2]);
  });

  it("is not made again here for a cascade that was refused: the caller has the one budget", async () => {
    let asked = 0;
    const methods: FakeMethods = {
      ...panel,
      startCascade: () => {
        asked++;
        throw new ConnectError("untrusted workspace", Code.FailedPrecondition);
      },
    };
    await withServer(methods, async (server) => {
      expect(upstreamReason(await failureOf(server.startCascade(never)))).toBe("untrusted_workspace");
    });
    expect(asked).toBe(1);
  });

  it("waits for the account, and hands it to the server", async () => {
    let pushed: string | undefined;
    const methods: FakeMethods = {
      initializeCascadePanelState: () => {
        if (pushed === undefined) throw new ConnectError("user status is nil", Code.Internal);
        return {};
      },
      getUserStatus: () => ({ userStatus: { name: "Ada" } }),
      updatePanelStateWithUserStatus: (request) => {
        pushed = request.userStatus?.name;
        return {};
      },
    };
    await withServer(methods, (server) => server.ensurePanelState({ force: false }, never));
    expect(pushed).toBe("Ada");
  });

  it("gives up on an account that never comes, and says so", async () => {
    const clock = new FakeClock();
    let asked = 0;
    const methods: FakeMethods = {
      initializeCascadePanelState: () => {
        asked++;
        throw new ConnectError("user status is nil", Code.Internal);
      },
      getUserStatus: () => ({}),
    };
    await withServer(
      methods,
      async (server) => {
        const state = { settled: false };
        const failing = failureOf(server.ensurePanelState({ force: false }, never)).finally(() => {
          state.settled = true;
        });
        while (!state.settled) {
          await new Promise(setImmediate);
          await clock.advance(3_000);
        }
        expect((await failing).code).toBe("not_signed_in");
      },
      { clock },
    );
    expect(asked).toBe(6);
  });
});
