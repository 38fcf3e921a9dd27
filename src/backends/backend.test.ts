import { create } from "@bufbuild/protobuf";
import { type SimulatorOptions, startSimulator } from "../../simulator/index.ts";
import { systemClock } from "../base/clock.ts";
import { RawChatMessageSchema } from "../proto/windsurf/exa/chat_pb.ts";
import { type BackendHarness, describeBackend, type NextAnswer } from "./backend.conformance.ts";
import { InstantClock } from "./instant-clock.fake.ts";
import { FakeLanguageServer, failure, type Script } from "./language-server.fake.ts";
import { openBackends } from "./route/route.ts";
import { SimulatedSource } from "./simulated-source.fake.ts";

describeBackend("Cascade by steps, in memory", { trajectories: true }, () => inMemory({ steps: true }));
describeBackend("Cascade by transcript, in memory", { trajectories: true }, () => inMemory({ steps: false }));
describeBackend("raw chat, in memory", { trajectories: false }, inMemoryRawChat);
describeBackend("Cascade by steps, simulator", { trajectories: true }, () => simulated({ profile: "windsurf-2" }));
describeBackend("Cascade by transcript, simulator", { trajectories: true }, () =>
  simulated({ profile: "windsurf-2", missing: ["GetCascadeTrajectorySteps"] }),
);
describeBackend("raw chat, simulator", { trajectories: false }, () => simulated({ profile: "windsurf-1.8" }));

async function inMemory(capability: { readonly steps: boolean }): Promise<BackendHarness> {
  const server = new FakeLanguageServer();
  server.capability = { cascade: true, steps: capability.steps, transcript: true, rawChat: false };
  return {
    backends: openBackends({ find: () => Promise.resolve(server), forget: () => {}, clock: new InstantClock() }),
    answer: async (next) => scriptCascade(server, next),
    counts: async () => ({
      accepted: server.accepted.length,
      cancels: [...server.cancelled],
      archives: [...server.archived],
    }),
    close: async () => {},
  };
}

function scriptCascade(server: FakeLanguageServer, next: NextAnswer): void {
  if ("refuses" in next) {
    server.script = [(t) => t.fail("no"), (t) => t.stop()];
    if (next.refuses === "in the call") server.failNext("sendUserMessage", "rate");
    return;
  }
  const half = Math.ceil(next.text.length / 2);
  const ending: Script = "holds" in next ? [] : [(t) => t.finish()];
  server.script = [
    (t) => t.plan(),
    (t) => t.write(next.text.slice(0, half)),
    () => {},
    (t) => t.write(next.text.slice(half)),
    ...ending,
  ];
}

async function inMemoryRawChat(): Promise<BackendHarness> {
  const server = new FakeLanguageServer();
  server.capability = { cascade: false, steps: false, transcript: false, rawChat: true };
  const message = (text: string, inProgress: boolean) =>
    create(RawChatMessageSchema, { messageId: "bot-1", text, inProgress });
  return {
    backends: openBackends({ find: () => Promise.resolve(server), forget: () => {}, clock: new InstantClock() }),
    async answer(next) {
      if ("refuses" in next) {
        server.rawMessages = [failure("rate")];
        return;
      }
      server.rawMessages = [message(next.text.slice(0, 5), true), message(next.text, "holds" in next)];
      server.rawHolds = "holds" in next;
    },
    counts: async () => ({ accepted: server.rawChats.length, cancels: [], archives: [] }),
    close: async () => {},
  };
}

/** The simulator: a real process on a real port, spoken to by the real client. */
async function simulated(options: SimulatorOptions): Promise<BackendHarness> {
  const simulator = await startSimulator(options);
  const source = new SimulatedSource(simulator);
  const server = await source.find();
  await server.capabilities(new AbortController().signal); // probing makes calls too: not to be counted with the turns
  return {
    backends: openBackends({
      find: () => source.find(),
      forget: () => {},
      clock: systemClock,
      pace: { fastestMs: 10 },
      acceptGraceMs: 300,
    }),
    async answer(next) {
      if ("refuses" in next) {
        const errorAt = next.refuses === "in the call" ? "send" : "step";
        await simulator.setTurn({ rate: "instant", error: "rate_limit", errorAt });
        return;
      }
      const pace = { rate: 2_000, inputMs: 5, firstMs: 5 };
      const holding = "holds" in next ? { stallMs: 60_000, stallAfter: next.text.length } : {};
      await simulator.setTurn({ ...pace, text: next.text, ...holding });
    },
    async counts() {
      const { messages, cancels, archives, calls } = await simulator.report();
      const raw = options.profile === "windsurf-1.8" ? (calls["RawGetChatMessage"] ?? 0) : 0;
      return { accepted: messages.length + raw, cancels, archives };
    },
    async close() {
      source.close();
      await simulator.stop();
    },
  };
}
