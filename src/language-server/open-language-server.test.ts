import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { systemClock } from "../base/clock.ts";
import { isMillraceError, type MillraceError } from "../base/errors.ts";
import type { CascadeId, ModelUid } from "../base/ids.ts";
import { Secret } from "../base/secret.ts";
import { ConversationalPlannerMode } from "../proto/windsurf/exa/codeium_common_pb.ts";
import type { SendUserCascadeMessageRequest, StartCascadeRequest } from "../proto/windsurf/exa/language_server_pb.ts";
import { callFailure } from "./errors/call-failure.ts";
import { upstreamReason } from "./errors/errors.ts";
import type { Capabilities, LanguageServer, SendMessage } from "./language-server.ts";
import { createWireIds } from "./metadata.ts";
import { type LanguageServerOptions, openLanguageServer } from "./open-language-server.ts";
import { type FakeMethods, type RpcServer, startRpcServer } from "./rpc-server.fake.ts";
import type { WireProtocol } from "./transport/endpoint.ts";

const identity = {
  variant: "windsurf",
  ideVersion: "2.2.17",
  extensionVersion: "1.48.2",
  extensionPath: "/usr/share/windsurf/resources/app/extensions/windsurf",
  apiKey: new Secret("sk-ws-01-planted"),
} as const;

const cascadeId = "7f9f1d3e-1111-4222-8333-444455556666" as CascadeId;
const message: SendMessage = {
  cascadeId,
  text: "Why is the sky blue?",
  instructions: "Answer in one line.",
  images: [{ mimeType: "image/png", base64: "aGk=" }],
  modelUid: "MODEL_CLAUDE_4_5_OPUS" as ModelUid,
  modelNumber: 391,
  maxOutputTokens: 4096,
};
const never = new AbortController().signal;

async function withServer<T>(
  methods: FakeMethods,
  use: (server: LanguageServer, rpc: RpcServer) => Promise<T>,
  options: Partial<LanguageServerOptions> & { readonly protocol?: WireProtocol; readonly missing?: "404" } = {},
): Promise<T> {
  await using rpc = await startRpcServer(methods, { missing: options.missing ?? "stub" });
  const clock = options.clock ?? systemClock;
  const server = openLanguageServer(rpc.endpoint(options.protocol ?? "grpc"), identity, {
    clock,
    ids: createWireIds(clock),
    random: () => 0,
    ...options,
  });
  try {
    return await use(server, rpc);
  } finally {
    server.close();
  }
}

async function failureOf(work: Promise<unknown>): Promise<MillraceError> {
  try {
    await work;
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
  throw new Error("expected a failure");
}

async function firstOf<T>(stream: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of stream) return item;
  return undefined;
}

const panel = { initializeCascadePanelState: () => ({}) };

describe("metadata on the wire", () => {
  it("holds every field that the server is known to look at, with ids that only grow", async () => {
    const seen: StartCascadeRequest[] = [];
    const methods: FakeMethods = {
      ...panel,
      startCascade: (request) => {
        seen.push(request);
        return { cascadeId };
      },
    };
    await withServer(methods, async (server) => {
      await server.startCascade(never);
      await server.startCascade(never);
    });
    const [first, second] = seen.map((request) => request.metadata);
    expect(first).toMatchObject({
      ideName: "windsurf",
      ideVersion: "2.2.17",
      extensionName: "windsurf",
      extensionVersion: "1.48.2",
      extensionPath: identity.extensionPath,
      apiKey: "sk-ws-01-planted",
      locale: "en",
      planName: "Unset",
      ideType: "windsurf",
    });
    expect(first?.lsTimestamp).toBeDefined();
    expect(first?.sessionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(second?.sessionId).toBe(first?.sessionId);
    expect(second?.triggerId).not.toBe(first?.triggerId);
    expect(second?.requestId ?? 0n).toBeGreaterThan(first?.requestId ?? 0n);
    expect(Number(first?.requestId)).toBeGreaterThan(1_700_000_000_000);
    expect(seen[0]?.baseTrajectoryIdentifier).toBeUndefined();
  });
});

describe("sendUserMessage", () => {
  it("asks a planner without tools, naming the model by every selector", async () => {
    const seen: SendUserCascadeMessageRequest[] = [];
    const methods: FakeMethods = {
      ...panel,
      sendUserCascadeMessage: (request) => {
        seen.push(request);
        return {};
      },
    };
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
    const seen: SendUserCascadeMessageRequest[] = [];
    const methods: FakeMethods = {
      ...panel,
      sendUserCascadeMessage: (request) => {
        seen.push(request);
        return {};
      },
    };
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
  it("is made once for any number of concurrent callers, and trusts the workspace", async () => {
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
    });
    expect(made).toBe(1);
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

describe("capabilities", () => {
  const unknown = () => {
    throw new ConnectError(`trajectory not found: ${cascadeId}`, Code.NotFound);
  };
  const forbidden = () => {
    throw new Error("a probe ran the call");
  };

  it.each(["grpc", "connect", "connect-json"] as const)(
    "of a 2.x build over %s are found without starting anything",
    async (protocol) => {
      let ran = 0;
      const count = () => {
        ran++;
        return forbidden();
      };
      const methods: FakeMethods = {
        startCascade: count,
        sendUserCascadeMessage: count,
        async *rawGetChatMessage() {
          yield {};
          count();
        },
        getCascadeTrajectory: unknown,
        getCascadeTrajectorySteps: unknown,
        getCascadeTranscriptForTrajectoryId: unknown,
      };
      await withServer(
        methods,
        async (server) => {
          expect(await server.capabilities(never)).toEqual({
            cascade: true,
            steps: true,
            transcript: true,
            rawChat: true,
          });
        },
        { protocol },
      );
      expect(ran).toBe(0);
    },
  );

  const offered: readonly (readonly [string, FakeMethods, Capabilities])[] = [
    [
      "of a 1.x build are raw chat alone",
      { async *rawGetChatMessage() {} },
      { cascade: false, steps: false, transcript: false, rawChat: true },
    ],
    [
      "of a build without transcript and raw chat are steps alone",
      { startCascade: forbidden, getCascadeTrajectory: unknown, getCascadeTrajectorySteps: unknown },
      { cascade: true, steps: true, transcript: false, rawChat: false },
    ],
    [
      "of a build without steps are the transcript alone",
      { startCascade: forbidden, getCascadeTranscriptForTrajectoryId: unknown },
      { cascade: true, steps: false, transcript: true, rawChat: false },
    ],
  ];
  it.each(offered)("%s", async (_, methods, expected) => {
    for (const protocol of ["grpc", "connect", "connect-json"] as const) {
      await withServer(methods, async (server) => expect(await server.capabilities(never)).toEqual(expected), {
        protocol,
        missing: "404",
      });
    }
  });

  it("are asked once per build, by all callers together and by the next client", async () => {
    let asked = 0;
    const builds = new Map();
    const methods: FakeMethods = {
      getCascadeTrajectorySteps: () => {
        asked++;
        return unknown();
      },
    };
    for (let i = 0; i < 2; i++) {
      await withServer(methods, (server) => Promise.all([server.capabilities(never), server.capabilities(never)]), {
        builds,
      });
    }
    expect(asked).toBe(1);
  });

  it("are not guessed where the token is refused or nothing answers", async () => {
    const refuse = () => {
      throw new ConnectError("missing CSRF token", Code.Unauthenticated);
    };
    await withServer({ getCascadeTrajectorySteps: refuse }, async (server) => {
      expect((await failureOf(server.capabilities(never))).code).toBe("unauthenticated");
    });
  });
});

describe("a closed client", () => {
  it("says so, for calls that run and for later ones", async () => {
    const entered = Promise.withResolvers<void>();
    const methods: FakeMethods = {
      getUserStatus: () => {
        entered.resolve();
        return new Promise(() => {});
      },
    };
    await withServer(methods, async (server) => {
      const running = failureOf(server.getUserStatus(never));
      await entered.promise;
      server.close();
      expect((await running).code).toBe("cancelled");
      expect((await failureOf(server.ping(never))).code).toBe("cancelled");
    });
  });
});

describe("Antigravity", () => {
  it("is asked for its account, never prompted", async () => {
    await using rpc = await startRpcServer({ ...panel, startCascade: () => ({ cascadeId }) });
    const clock = systemClock;
    const server = openLanguageServer({ ...rpc.endpoint("grpc"), variant: "antigravity" }, identity, {
      clock,
      ids: createWireIds(clock),
    });
    for (const work of [
      server.startCascade(never),
      server.sendUserMessage(message, never),
      firstOf(server.rawChat({ instructions: "", messages: [], modelNumber: 1, modelName: "" }, never)),
    ]) {
      expect((await failureOf(work)).code).toBe("invalid_request");
    }
    server.close();
    expect(rpc.requests).toEqual([]);
  });
});

it("no secret appears in an error, for any answer of the server", async () => {
  const methods: FakeMethods = {
    getUserStatus: ({ metadata }) => {
      throw new ConnectError(
        `cannot use key ${metadata?.apiKey}, nor devin-session-token$eyJhbGciOi.x.y`,
        Code.Unknown,
      );
    },
  };
  await withServer(methods, async (server) => {
    const error = await failureOf(server.getUserStatus(never));
    expect(JSON.stringify(error.toRecord())).not.toMatch(/planted|eyJ/);
    expect(error.message).toContain("[redacted]");
  });
});
