import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { systemClock } from "../base/clock.ts";
import type { StartCascadeRequest } from "../proto/windsurf/exa/language_server_pb.ts";
import type { Capabilities } from "./language-server.ts";
import { createWireIds } from "./metadata.ts";
import { openLanguageServer } from "./open-language-server.ts";
import { type FakeMethods, startRpcServer } from "./rpc-server.fake.ts";
import { cascadeId, failureOf, firstOf, identity, message, never, panel, withServer } from "./served-client.fake.ts";

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
      "of a build that neither has a transcript nor tells its status are steps alone",
      { startCascade: forbidden, getCascadeTrajectorySteps: unknown },
      { cascade: true, steps: true, transcript: false, rawChat: false },
    ],
    [
      "of a build that does not tell its status are the transcript",
      { startCascade: forbidden, getCascadeTrajectorySteps: unknown, getCascadeTranscriptForTrajectoryId: unknown },
      { cascade: true, steps: false, transcript: true, rawChat: false },
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
      expect((await failureOf(server.capabilities(never))).code).toBe("upstream_failed");
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
