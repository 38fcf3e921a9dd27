import { describe, expect, it } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { Emitter } from "../base/emitter.ts";
import { MillraceError } from "../base/errors.ts";
import { idle } from "../base/wait.fake.ts";
import { fakeModels, fakeStatus } from "./account.fake.ts";
import type { AgentModel } from "./agent-models.ts";
import type { ModelLifecycle } from "./lifecycle.ts";
import { openModels } from "./open-models.ts";

const never = new AbortController().signal;
const offered = (id: string, label: string): AgentModel => ({ id, label, isCurrent: id === "swe-2-high" });

/** An account whose prompts go over Cascade, and the vendor's agent beside it. */
function machine({ beside = true } = {}) {
  const clock = new FakeClock();
  const state = {
    own: 0,
    asked: 0,
    moved: new Set<string>(),
    offers: [
      offered("swe-2-high", "SWE-2 High"),
      offered("swe-2-medium", "SWE-2 Medium"),
      offered("claude-opus-4-7-medium", "Claude Opus 4.7 Medium"),
      offered("gpt-5-2-medium", "GPT-5.2 Medium Thinking"),
      offered("claude-opus-5-max", "Claude Opus 5 Max"),
    ] as readonly AgentModel[],
    answer: undefined as Promise<void> | undefined,
  };
  const agent = {
    name: "devin",
    async models() {
      state.asked++;
      await state.answer;
      return state.offers;
    },
  };
  const problems: string[] = [];
  const events = new Emitter<ModelLifecycle>();
  events.on("agent_models_unread", (unread) => problems.push(unread.agent));
  const models = openModels(
    {
      account: async () => {
        state.own++;
        const status = fakeStatus(fakeModels, "claude-opus-4-7-medium");
        const isMoved = (uid: string) => state.moved.has(uid);
        return { status, agent: undefined, backend: "cascade", beside: beside ? agent : undefined, isMoved };
      },
    },
    { clock, events },
  );
  const list = (refresh = false) => models.list({ refresh }, never);
  const agents = async () => (await list()).filter(({ backend }) => backend === "acp").map(({ name }) => name);
  return { clock, state, models, problems, list, agents };
}

describe("models that only the agent offers", () => {
  it("are listed after the account's own, each with its backend, and none of them is the default", async () => {
    const { list } = machine();
    const all = await list();
    const own = all.filter(({ backend }) => backend === "cascade");
    expect(own.map(({ uid }) => uid)).toEqual(
      fakeModels.map(({ modelUid }) => modelUid).filter((uid) => uid !== "claude-opus-5-max"), // disabled there
    );
    expect(all.slice(own.length).map(({ uid, name, backend }) => [uid, name, backend])).toEqual([
      ["swe-2-high", "swe-2:high", "acp"],
      ["swe-2-medium", "swe-2:medium", "acp"],
      ["claude-opus-5-max", "claude-opus-5:max", "acp"],
    ]);
    expect(all.filter(({ isDefault }) => isDefault).map(({ uid }) => uid)).toEqual(["claude-opus-4-7-medium"]);
  });

  it("are found by a name that the account's own list does not have, and the agent is asked for such a name only", async () => {
    const { state, models } = machine();
    expect((await models.resolve("gpt-5.2", undefined, never)).model).toMatchObject({ backend: "cascade" });
    expect(state.asked).toBe(0);
    expect((await models.resolve("swe-2", "high", never)).model).toMatchObject({ uid: "swe-2-high", backend: "acp" });
    expect((await models.resolve("claude-opus-5:max", undefined, never)).model).toMatchObject({ backend: "acp" });
    expect(models.nameOf("swe-2-high")).toBe("swe-2:high");
    expect(state.asked).toBe(1);
  });

  it("do not change what the account's own names mean", async () => {
    const { models, list } = machine();
    const before = await models.resolve("claude-opus-4.7", "max", never);
    await list();
    expect(await models.resolve("claude-opus-4.7", "max", never)).toEqual(before);
    expect((await models.resolve("gpt-5-2-medium", undefined, never)).model.backend).toBe("cascade");
  });

  it("are not there where the agent may not be asked", async () => {
    const { state, models, agents } = machine({ beside: false });
    expect(await agents()).toEqual([]);
    await expect(models.resolve("swe-2", undefined, never)).rejects.toMatchObject({ code: "unknown_model" });
    await expect(models.resolve("claude-opus-5:max", undefined, never)).rejects.toMatchObject({
      code: "model_not_allowed",
    });
    expect([state.asked, state.own]).toEqual([0, 1]);
  });

  it("are told to a backend, which asks where it does not know", async () => {
    const { state, models } = machine();
    expect(await models.isOnlyAgents("MODEL_PRIVATE_11", never)).toBe(false);
    expect(state.asked).toBe(0);
    expect(await models.isOnlyAgents("swe-2-high", never)).toBe(true);
    expect(await models.isOnlyAgents("swe-9", never)).toBe(false);
    expect([state.own, state.asked]).toEqual([1, 1]);
  });

  it("include one that Cascade turned away since", async () => {
    const { state, models, agents } = machine();
    expect(await agents()).not.toContain("claude-opus-4.7:medium");
    state.moved.add("claude-opus-4-7-medium").add("MODEL_GPT_5_2_MEDIUM").add("kimi-k2-6");
    expect(await agents()).toEqual(
      expect.arrayContaining(["claude-opus-4.7:medium", expect.stringMatching(/^gpt-5\.2/)]),
    );
    expect((await models.resolve("gpt-5.2:medium", undefined, never)).model.uid).toBe("gpt-5-2-medium");
    await expect(models.resolve("kimi-k2.6", undefined, never)).rejects.toMatchObject({ code: "model_not_allowed" });
  });
});

describe("the agent beside", () => {
  it("is waited for five seconds by a listing, and its answer is in the next one", async () => {
    const { clock, state, agents } = machine();
    const answer = Promise.withResolvers<void>();
    state.answer = answer.promise;
    const first = agents();
    await clock.advance(5_000);
    expect(await first).toEqual([]);
    expect(await agents()).toEqual([]);
    answer.resolve();
    await answer.promise;
    await idle();
    expect(await agents()).toHaveLength(3);
    expect(state.asked).toBe(1);
  });

  it("is asked again after an hour, without a wait, and at once on demand", async () => {
    const { clock, state, agents, list } = machine();
    await agents();
    await clock.advance(59 * 60_000);
    await agents();
    expect(state.asked).toBe(1);
    await clock.advance(60_000);
    state.offers = [];
    expect(await agents()).toHaveLength(3);
    expect(await agents()).toHaveLength(0);
    expect(state.asked).toBe(2);
    await list(true);
    expect(state.asked).toBe(3);
  });

  it("is told of when it fails, left alone for a minute, and costs the account's models nothing", async () => {
    const { clock, state, problems, models, agents, list } = machine();
    state.answer = Promise.reject(new MillraceError("upstream_failed", "It does not start."));
    expect(await agents()).toEqual([]);
    await expect(models.resolve("swe-2", undefined, never)).rejects.toMatchObject({ code: "unknown_model" });
    expect((await list()).length).toBe(fakeModels.length);
    expect([state.asked, problems]).toEqual([1, ["devin"]]);
    state.answer = undefined;
    await clock.advance(60_000);
    expect((await models.resolve("swe-2", undefined, never)).model.backend).toBe("acp");
  });
});
