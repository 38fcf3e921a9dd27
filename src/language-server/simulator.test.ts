import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { systemClock } from "../base/clock.ts";
import type { ModelUid } from "../base/ids.ts";
import { CascadeRunStatus } from "../proto/windsurf/exa/cortex_pb.ts";
import { callFailure } from "./errors/call-failure.ts";
import type { Capabilities, LanguageServer } from "./language-server.ts";
import { createWireIds } from "./metadata.ts";
import { openLanguageServer } from "./open-language-server.ts";
import { probePort } from "./probe/probe.ts";
import type { WireProtocol } from "./transport/endpoint.ts";

/** The client against the stand-in IDE: the real wire, from a real process, of each kind of build. */
const builds: readonly (readonly [Parameters<typeof startSimulator>[0], Capabilities])[] = [
  [
    { profile: "windsurf-2", strictMetadata: true },
    { cascade: true, steps: true, transcript: true, rawChat: true },
  ],
  [{ profile: "windsurf-1.9544" }, { cascade: true, steps: true, transcript: false, rawChat: true }],
  [{ profile: "windsurf-1.8" }, { cascade: false, steps: false, transcript: false, rawChat: true }],
];
const never = new AbortController().signal;
const ids = createWireIds(systemClock);

describe.each(builds)("a build like %o", (options, expected) => {
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator({ ...options, turn: { rate: "instant" } });
  });
  afterAll(() => simulator.stop());

  function endpoint(protocol: WireProtocol) {
    const { port, csrfToken } = simulator;
    return { variant: "windsurf", host: "127.0.0.1", port, tls: false, protocol, csrfToken } as const;
  }

  async function use<T>(protocol: WireProtocol, work: (server: LanguageServer) => Promise<T>): Promise<T> {
    const identity = {
      variant: "windsurf",
      ideVersion: simulator.ideVersion,
      extensionVersion: "1.48.2",
      extensionPath: "/usr/share/windsurf/resources/app/extensions/windsurf",
      apiKey: simulator.apiKey,
    } as const;
    const machine = { os: "linux", hardware: "x86_64", deviceFingerprint: "ab".repeat(32) };
    const server = openLanguageServer(endpoint(protocol), identity, { clock: systemClock, ids, machine });
    try {
      return await work(server);
    } finally {
      server.close();
    }
  }

  it("is found among its ports, and the others are told apart", async () => {
    const { csrfToken, port, otherPorts } = simulator;
    const probe = (candidate: number, attemptMs: number) =>
      probePort({ host: "127.0.0.1", port: candidate, csrfToken, variant: "windsurf", attemptMs }, never);
    expect(await probe(port, 30_000)).toEqual({ ok: true, protocol: "grpc", tls: false });
    for (const other of otherPorts) expect(await probe(other, 300)).toMatchObject({ ok: false });
  });

  it.each(["grpc", "connect", "connect-json"] as const)("offers over %s what it offers", async (protocol) => {
    await use(protocol, async (server) => {
      expect(await server.capabilities(never)).toEqual(expected);
      expect((await server.getUserStatus(never)).name).not.toBe("");
    });
    const report = await simulator.report();
    expect([report.messages.length, report.startedCascades, report.requestIds.notRising]).toEqual([0, 0, 0]);
  });

  it.runIf(expected.cascade).each(["grpc", "connect", "connect-json"] as const)(
    "answers a prompt over %s",
    async (protocol) => {
      await use(protocol, async (server) => {
        const cascadeId = await server.startCascade(never);
        await server.sendUserMessage(
          {
            cascadeId,
            text: "Say hello.",
            instructions: "Be brief.",
            images: [],
            modelUid: "MODEL_CLAUDE_4_5_OPUS" as ModelUid,
            modelNumber: undefined,
            maxOutputTokens: undefined,
          },
          never,
        );
        let status = await server.getStatus(cascadeId, never);
        while (status.status !== CascadeRunStatus.IDLE || status.executors.length === 0) {
          status = await server.getStatus(cascadeId, never);
        }
        const steps = await server.getSteps(cascadeId, 0, never);
        const planners = steps.filter((step) => step.step.case === "plannerResponse");
        expect(planners.length).toBeGreaterThan(0);
        expect(steps).toHaveLength(status.totalSteps);
        const transcript = server.getTranscript(cascadeId, 0, never).then(
          (answer) => answer.transcript,
          (error: unknown) => callFailure(error),
        );
        expect(await transcript).toMatch(expected.transcript ? /^=== MESSAGE / : /^unimplemented$/);
        expect((await server.getGeneratorMetadata(cascadeId, 0, never)).length).toBeGreaterThan(0);
        await server.archive(cascadeId, never);
      });
    },
  );

  it.runIf(!expected.cascade)("answers raw chat, message by message", async () => {
    const chat = {
      instructions: "Be brief.",
      messages: [{ role: "user", text: "Say hello." }],
      modelNumber: 391,
      modelName: "",
    } as const;
    await use("grpc", async (server) => {
      const texts: string[] = [];
      for await (const delta of server.rawChat(chat, never)) texts.push(delta.text);
      expect(texts.join("").length).toBeGreaterThan(0);
    });
  });
});
