import { expect } from "vitest";
import type { ModelUid } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { eventsOf, type Prompt, type ResumePoint } from "../backend.ts";
import { InstantClock } from "../instant-clock.fake.ts";
import { FakeLanguageServer, type Script } from "../language-server.fake.ts";
import { type BackendsOptions, openBackends } from "../route/route.ts";

export const prompt: Prompt = {
  modelUid: "m" as ModelUid, // any name will do
  modelNumber: undefined,
  instructions: "i".repeat(40),
  text: "hello",
  messages: [],
  images: [],
  maxOutputTokens: undefined,
  continues: undefined,
  form: "text",
};

export const answer: Script = [(t) => t.plan(), (t) => t.write("Hel"), (t) => t.write("lo"), (t) => t.finish()];

export function setUp(script: Script = answer, options: Partial<BackendsOptions> = {}) {
  const server = new FakeLanguageServer();
  server.script = script;
  const servers = [server];
  const forgotten: unknown[] = [];
  const clock = new InstantClock();
  const backends = openBackends({
    find: async () => servers.at(-1) ?? server,
    forget: (gone) => forgotten.push(gone),
    clock,
    ...options,
  });
  const controller = new AbortController();
  const run = async (keep = false, onEvent: (event: TurnEventBody) => void = () => {}) => {
    const backend = await backends.choose(prompt, controller.signal);
    const events: TurnEventBody[] = [];
    for await (const event of eventsOf(backend.run(prompt, { keep, onAlive: () => {} }, controller.signal))) {
      events.push(event);
      onEvent(event);
    }
    return events;
  };
  const resume = async (from: Partial<ResumePoint>) => {
    const backend = await backends.choose(prompt, controller.signal);
    const point = { cascadeId: undefined, text: "", thinking: "", ...from };
    const events: TurnEventBody[] = [];
    for await (const event of eventsOf(
      backend.resume(prompt, point, { keep: false, onAlive: () => {} }, controller.signal),
    )) {
      events.push(event);
    }
    return events;
  };
  return { server, servers, forgotten, clock, backends, controller, run, resume };
}

export const finished = expect.objectContaining({ type: "finished", text: "Hello" });

/** A server that took over the files of another one. */
export function successor(of: FakeLanguageServer, keeps: boolean): FakeLanguageServer {
  const server = new FakeLanguageServer();
  if (keeps) for (const [id, trajectory] of of.trajectories) server.trajectories.set(id, trajectory);
  return server;
}
