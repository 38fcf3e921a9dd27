import { describe, expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { AcpAgent } from "../acp/agent.ts";
import { type Backend, eventsOf, type Prompt } from "../backend.ts";
import { InstantClock } from "../instant-clock.fake.ts";
import { FakeLanguageServer } from "../language-server.fake.ts";
import type { ConversationJournal } from "./prompt-route.ts";
import { type Agents, openBackends } from "./route.ts";

const never = new AbortController().signal;
const noIde = new MillraceError("ide_not_running", "No IDE runs.");
const signedOut = new MillraceError("not_signed_in", "Nobody is signed in.");
/** A server's refusal: it answered, and did not act. */
const retirement = new MillraceError("backend_retired", "Cascade was removed.", {
  details: { reason: "model_retired" },
});

const prompt: Prompt = {
  modelUid: "swe-2-high" as ModelUid,
  modelNumber: undefined,
  instructions: "",
  text: "Hello",
  messages: [{ role: "user", text: "Hello" }],
  images: [],
  maxOutputTokens: undefined,
  continues: undefined,
  form: "text",
};

/** An agent in memory that answers at once, and keeps its prompts. */
function fakeAgent(name: string) {
  const prompts: Prompt[] = [];
  async function* answer(asked: Prompt, text: string): ReturnType<Backend["run"]> & AsyncGenerator {
    const cascadeId = `acp:${name}:s${prompts.length}` as CascadeId; // as the backend names its sessions
    yield [{ type: "started", modelUid: asked.modelUid, backend: "acp", cascadeId }];
    prompts.push(asked);
    yield [{ type: "finished", reason: { unified: "stop", raw: undefined }, text }];
  }
  const agent: AcpAgent = {
    name,
    backend: {
      kind: "acp",
      run: (asked) => answer(asked, `${name} answers`),
      resume: (asked) => answer(asked, `${name} goes on`),
      archive: async () => {},
    },
    newerThanTried: undefined,
    models: async () => [],
    untilSlow: () => new Promise(() => {}),
    stats: async () => ({
      processes: [],
      starts: 0,
      crashes: 0,
      prompts: prompts.length,
      agentVersion: undefined,
    }),
    close: async () => {},
  };
  return { agent, prompts };
}

interface World {
  readonly build?: string;
  readonly server?: FakeLanguageServer | MillraceError;
  readonly vendor?: "signed in" | MillraceError;
  readonly mode?: "auto" | "acp" | "cascade" | "raw";
  /** Models that only the agent offers. */
  readonly onlyAgents?: readonly string[] | MillraceError;
  readonly journal?: ConversationJournal;
}

function world({
  build = "2.3.9",
  server = new FakeLanguageServer(),
  vendor = "signed in",
  mode,
  onlyAgents = [],
  journal,
}: World) {
  const devin = fakeAgent("devin");
  const opencode = fakeAgent("opencode");
  const agents: Agents = {
    vendor: async () => {
      if (vendor !== "signed in") throw vendor;
      return { agent: devin.agent, product: "Devin CLI" };
    },
    configured: (name) => (name === "opencode" ? opencode.agent : undefined),
    named: async (name) => (name === "opencode" ? opencode.agent : devin.agent),
  };
  const backends = openBackends({
    find: async () => {
      if (server instanceof MillraceError) throw server;
      return server;
    },
    forget: () => {},
    buildOf: () => build,
    clock: new InstantClock(),
    agents,
    isOnlyAgents: async (uid) => {
      if (onlyAgents instanceof MillraceError) throw onlyAgents;
      return onlyAgents.includes(uid);
    },
    ...(mode === undefined ? {} : { mode }),
    ...(journal === undefined ? {} : { journal }),
  });
  return { backends, devin, opencode };
}

async function ask(backend: Backend, asked: Prompt = prompt): Promise<readonly TurnEventBody[]> {
  const events: TurnEventBody[] = [];
  const run = backend.run(asked, { keep: false, onAlive: () => {} }, never);
  for await (const event of eventsOf(run)) events.push(event);
  return events;
}

function serverWith(capability: Partial<FakeLanguageServer["capability"]>): FakeLanguageServer {
  const server = new FakeLanguageServer();
  server.capability = { ...server.capability, ...capability };
  return server;
}

/** A server that answers every call, except that Cascade was removed. */
function retiredServer(): FakeLanguageServer {
  const server = new FakeLanguageServer();
  server.startCascade = () => Promise.reject(retirement);
  return server;
}

describe("the backend of a prompt", () => {
  it.each<[string, World, string, string]>([
    ["an older build with an agent beside it", {}, "cascade", "this build still has Cascade"],
    [
      "an older build alone",
      { vendor: noIde },
      "cascade",
      "no agent program is signed in, so the editor's server answers",
    ],
    [
      "an older build whose agent is signed out",
      { vendor: signedOut },
      "cascade",
      "no agent program is signed in, so the editor's server answers",
    ],
    ["the last build before the removal", { build: "3.8.20" }, "cascade", "this build still has Cascade"],
    ["a build of today", { build: "3.10.48" }, "acp", "build 3.10.48 asks its models through its agent"],
    ["a build of tomorrow", { build: "4.0.1+next" }, "acp", "build 4.0.1+next asks"],
    ["a build of today without a signed-in agent", { build: "3.10.48", vendor: signedOut }, "cascade", "no agent"],
    ["the agent alone", { server: noIde }, "acp", "Devin CLI is signed in"],
    ["an editor without a signed-in account", { server: signedOut }, "acp", "Devin CLI is signed in"],
    ["a server without any chat", { server: serverWith({ cascade: false }) }, "acp", "offers no way to chat"],
    [
      "a server of the oldest builds",
      { server: serverWith({ cascade: false, rawChat: true }) },
      "raw_chat",
      "this build has raw chat only",
    ],
    ["an older build, set to acp", { mode: "acp" }, "acp", "`acp`"],
    ["a build of today, set to cascade", { mode: "cascade", build: "3.10.48" }, "cascade", "`cascade`"],
    ["both, set to raw", { mode: "raw", server: serverWith({ rawChat: true }) }, "raw_chat", "`raw`"],
  ])("with %s", async (_, given, kind, why) => {
    const { backends } = world(given);
    const choice = await backends.chosen(never);
    expect([choice.kind, choice.why]).toEqual([kind, expect.stringContaining(why)]);
    expect((await backends.choose(prompt, never)).kind).toBe(kind);
  });

  it.each<[string, World, MillraceError["code"], string]>([
    ["nothing is here", { server: noIde, vendor: noIde }, "ide_not_running", "No IDE runs."],
    ["only a signed-out agent is here", { server: noIde, vendor: signedOut }, "not_signed_in", "Nobody"],
    ["acp is set and the agent is signed out", { mode: "acp", vendor: signedOut }, "not_signed_in", "Nobody"],
    ["cascade is set and no server runs", { mode: "cascade", server: noIde }, "ide_not_running", "No IDE"],
    ["raw is set on a build without it", { mode: "raw" }, "upstream_failed", "raw chat"],
    [
      "the server offers no way to chat",
      { server: serverWith({ cascade: false }), vendor: noIde },
      "upstream_failed",
      "supports no kind of chat",
    ],
  ])("is refused when %s", async (_, given, code, message) => {
    const refusal = expect.objectContaining({ code, message: expect.stringContaining(message) as string }) as unknown;
    await expect(world(given).backends.choose(prompt, never)).rejects.toEqual(refusal);
  });
});

describe("a model that only the agent offers", () => {
  const onlyAgents = [prompt.modelUid];
  const other: Prompt = { ...prompt, modelUid: "MODEL_GPT_5_2_MEDIUM" as ModelUid };

  it("goes to the agent beside Cascade, and the others go over Cascade", async () => {
    const { backends, devin } = world({ build: "3.8.20", onlyAgents });
    expect(await backends.chosen(never)).toMatchObject({ kind: "cascade", beside: { product: "Devin CLI" } });
    expect((await backends.choose(other, never)).kind).toBe("cascade");
    const events = await ask(await backends.choose(prompt, never));
    expect(events).toMatchObject([{ type: "started", backend: "acp" }, { text: "devin answers" }]);
    expect(devin.prompts).toHaveLength(1);
  });

  it.each<[string, World]>([
    ["the user chose Cascade", { mode: "cascade" }],
    ["the agent is signed out", { vendor: signedOut }],
  ])("goes nowhere else when %s", async (_, given) => {
    const { backends } = world({ build: "3.8.20", onlyAgents, ...given });
    expect((await backends.chosen(never)).beside).toBeUndefined();
    expect((await backends.choose(prompt, never)).kind).toBe("cascade");
  });

  it("is not looked for where its list cannot be read", async () => {
    const { backends } = world({ build: "3.8.20", onlyAgents: new MillraceError("upstream_failed", "No list.") });
    expect((await backends.choose(prompt, never)).kind).toBe("cascade");
  });

  it("is one that Cascade turned away in a conversation; the build is not retired by it", async () => {
    const server = new FakeLanguageServer();
    const refusal = new MillraceError("backend_retired", "Only in Devin Local.", {
      details: { reason: "model_moved" },
    });
    server.sendUserMessage = () => Promise.reject(refusal);
    const { backends } = world({ build: "3.8.20", server });
    const events = await ask(await backends.choose(prompt, never));
    expect(events).toMatchObject([{ type: "started" }, { type: "failed", error: { code: "backend_retired" } }]);
    const { kind, isMoved } = await backends.chosen(never);
    expect([kind, isMoved(prompt.modelUid), isMoved(other.modelUid)]).toEqual(["cascade", true, false]);
  });
});

describe("a model of a configured agent", () => {
  const asked: Prompt = { ...prompt, modelUid: "opencode/mock/m1" as ModelUid };

  it("goes to that agent, on a machine with nothing else too", async () => {
    const { backends, opencode } = world({ server: noIde, vendor: noIde });
    const events = await ask(await backends.choose(asked, never), asked);
    expect(events).toMatchObject([{ type: "started", modelUid: "opencode/mock/m1" }, { text: "opencode answers" }]);
    expect(opencode.prompts.map(({ modelUid }) => modelUid)).toEqual([asked.modelUid]);
  });

  it("goes there with the whole history too, which is asked if the conversation is gone", async () => {
    const { backends, opencode } = world({ server: noIde, vendor: noIde });
    const continues = "acp:opencode:s1" as CascadeId;
    const continued: Prompt = { ...asked, continues, instead: asked };
    await ask(await backends.choose(continued, never), continued);
    expect(opencode.prompts.map(({ instead }) => instead?.modelUid)).toEqual([asked.modelUid]);
  });

  it("is taken up again by its conversation's id", async () => {
    const { backends, opencode } = world({ server: noIde, vendor: noIde });
    const cascadeId = "acp:opencode:s1" as CascadeId;
    const backend = await backends.holding({ backend: "acp", cascadeId }, never);
    const options = { keep: false, onAlive: () => {} };
    for await (const _ of backend.resume(asked, { cascadeId, text: "", thinking: "" }, options, never)) continue;
    expect(opencode.prompts.map(({ modelUid }) => modelUid)).toEqual([asked.modelUid]);
  });
});

describe("Cascade that turns out to be removed", () => {
  it("fails the request that finds it out, and the next one goes to the agent", async () => {
    const server = retiredServer();
    const { backends, devin } = world({ build: "3.8.20", server });
    const first = await ask(await backends.choose(prompt, never));
    expect(first).toMatchObject([{ type: "failed", error: { code: "backend_retired" } }]);
    expect(await backends.chosen(never)).toMatchObject({ kind: "acp", why: "Cascade was removed from this build" });
    const second = await ask(await backends.choose(prompt, never));
    expect(second).toMatchObject([{ type: "started", backend: "acp" }, { text: "devin answers" }]);
    expect([devin.prompts.length, server.accepted.length]).toEqual([1, 0]);
  });

  it("is an error with the way out where no agent can be asked", async () => {
    const { backends } = world({ server: retiredServer(), vendor: signedOut });
    const first = await ask(await backends.choose(prompt, never));
    expect(first).toMatchObject([{ type: "failed", error: { code: "backend_retired" } }]);
    await expect(backends.choose(prompt, never)).rejects.toMatchObject({
      code: "backend_retired",
      message: expect.stringContaining("Nobody is signed in.") as string,
      hint: signedOut.hint,
    });
  });

  it("stays an error where the user chose Cascade", async () => {
    const { backends, devin } = world({ server: retiredServer(), mode: "cascade" });
    const events = await ask(await backends.choose(prompt, never));
    expect(events).toMatchObject([{ type: "failed", error: { code: "backend_retired" } }]);
    expect(devin.prompts).toHaveLength(0);
  });

  it("does not hand on a prompt once a conversation exists", async () => {
    const server = new FakeLanguageServer();
    server.sendUserMessage = () => Promise.reject(retirement);
    const { backends, devin } = world({ server });
    const events = await ask(await backends.choose(prompt, never));
    expect(events).toMatchObject([{ type: "started" }, { type: "failed", error: { code: "backend_retired" } }]);
    expect(devin.prompts).toHaveLength(0);
    expect((await backends.chosen(never)).kind).toBe("acp");
  });
});

describe("an account whose plan does not allow Cascade", () => {
  function denying(): FakeLanguageServer {
    const server = new FakeLanguageServer();
    server.cascadeDenied = true;
    return server;
  }

  it("is never sent there, also by a restarted server that was not asked for its account yet", async () => {
    const server = denying();
    const { backends, devin } = world({ build: "3.8.20", server });
    expect(await backends.chosen(never)).toMatchObject({
      kind: "acp",
      why: "the account's plan does not allow Cascade",
    });
    server.cascadeDenied = undefined;
    await ask(await backends.choose(prompt, never));
    expect([devin.prompts.length, server.accepted.length]).toEqual([1, 0]);
  });

  it("is told why and what to do where no agent can be asked", async () => {
    const { backends } = world({ server: denying(), vendor: signedOut });
    await expect(backends.choose(prompt, never)).rejects.toMatchObject({
      code: "backend_retired",
      message:
        "The account's plan does not allow Cascade. The IDE's agent cannot be asked either: Nobody is signed in.",
    });
  });
});

describe("a conversation of another backend", () => {
  it.each<[string, World, string]>([
    ["Cascade's, asked of the agent", { server: noIde }, "0b7c6e1e-53dc-4a2e-8f43-3d5a3f0a2b11"],
    ["the agent's, asked of Cascade", { vendor: noIde }, "acp:devin:wide-river"],
    ["another agent's", { server: noIde }, "acp:opencode:s1"],
  ])("is refused before anything is sent: %s", async (_, given, id) => {
    const { backends, devin } = world(given);
    const continued = { ...prompt, continues: id as CascadeId };
    const events = await ask(await backends.choose(prompt, never), continued);
    expect(events).toMatchObject([{ type: "failed", error: { code: "upstream_failed" } }]);
    expect(devin.prompts).toHaveLength(0);
  });
});

it.each(["cancel", "detach"] as const)(
  "a conversation whose turn is stopped (%s) while the IDE makes it is noted before it is archived, and stays noted where that fails",
  async (reason) => {
    const server = new FakeLanguageServer();
    const stop = new AbortController();
    const notes: string[] = [];
    const journal = {
      note: async ({ cascadeId }: { readonly cascadeId: string }) => void notes.push(`noted ${cascadeId}`),
      noteArchived: async (cascadeId: string) => void notes.push(`archived ${cascadeId}`),
      owner: "me",
      clock: new InstantClock(),
    };
    server.onCall = (call) => {
      if (call === "startCascade") stop.abort(reason);
      if (call === "archive") notes.push("archive is asked for");
    };
    server.failNext("archive", "unavailable");
    const { backends } = world({ build: "2.3.9", server, vendor: signedOut, journal });
    const backend = await backends.choose(prompt, never);
    for await (const _ of backend.run(prompt, { keep: false, onAlive: () => {} }, stop.signal)) continue;
    expect(notes).toEqual([expect.stringMatching(/^noted /), "archive is asked for"]);
    expect(server.accepted).toEqual([]);
  },
);
