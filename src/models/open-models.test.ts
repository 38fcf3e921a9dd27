import { describe, expect, it } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { Emitter } from "../base/emitter.ts";
import { MillraceError } from "../base/errors.ts";
import { fakeModels, fakeStatus } from "./account.fake.ts";
import type { ModelLifecycle } from "./lifecycle.ts";
import { openModels } from "./open-models.ts";

const never = new AbortController().signal;

function account(preferred: () => string | undefined = () => undefined) {
  const clock = new FakeClock();
  const state = { asked: 0, models: fakeModels, failure: undefined as Error | undefined };
  const models = openModels(
    {
      account: async () => {
        state.asked++;
        if (state.failure !== undefined) throw state.failure;
        return { status: fakeStatus(state.models), agent: undefined, backend: "cascade" };
      },
    },
    { clock, preferred },
  );
  return { clock, state, models };
}

describe("the list of models", () => {
  it("has the user's default of this moment as its only one, by any name of it; a name of no model changes nothing", async () => {
    let preferred = "opus-4.7";
    const { models } = account(() => preferred);
    const defaults = async () =>
      (await models.list({ refresh: false }, never)).flatMap((model) => (model.isDefault ? [model.name] : []));
    expect(await defaults()).toEqual(["claude-opus-4.7:medium"]);
    preferred = "gpt-5.5";
    expect(await defaults()).toEqual(["gpt-5.5:high"]);
    preferred = "no such model";
    const unchanged = await defaults();
    preferred = "";
    expect(await defaults()).toEqual(unchanged);
  });

  it("is asked for once by all together, and believed for five minutes", async () => {
    const { clock, state, models } = account();
    await Promise.all([models.list({ refresh: false }, never), models.resolve("gpt-5.2", undefined, never)]);
    await clock.advance(299_000);
    await models.list({ refresh: false }, never);
    expect(state.asked).toBe(1);
    await clock.advance(2_000);
    await models.list({ refresh: false }, never);
    expect(state.asked).toBe(2);
  });

  it("is asked for again on demand", async () => {
    const { state, models } = account();
    await models.list({ refresh: false }, never);
    expect(await models.list({ refresh: true }, never)).toHaveLength(fakeModels.length);
    expect(state.asked).toBe(2);
  });

  it("throws what asking throws, and is not poisoned by it", async () => {
    const { state, models } = account();
    state.failure = new MillraceError("ide_not_running", "gone");
    await expect(models.list({ refresh: false }, never)).rejects.toThrow("gone");
    state.failure = undefined;
    expect(await models.list({ refresh: false }, never)).toHaveLength(fakeModels.length);
  });
});

describe("an unknown name", () => {
  it("has the list asked for again, and is then found if it has come", async () => {
    const { clock, state, models } = account();
    await models.list({ refresh: false }, never);
    state.models = [...fakeModels, { modelUid: "claude-opus-9-high", label: "Claude Opus 9 High" }];
    await clock.advance(11_000);
    expect((await models.resolve("claude-opus-9:high", undefined, never)).model.uid).toBe("claude-opus-9-high");
    expect(state.asked).toBe(2);
  });

  it("does not have it asked for over and over", async () => {
    const { state, models } = account();
    for (let i = 0; i < 5; i++) await expect(models.resolve("gtp-5", undefined, never)).rejects.toThrow("no model");
    expect(state.asked).toBe(1);
  });
});

describe("the name of a UID", () => {
  it("is the list's own, also for what only this account calls so", async () => {
    const { state, models } = account();
    for (const { uid, name } of await models.list({ refresh: false }, never)) expect(models.nameOf(uid)).toBe(name);
    expect(models.nameOf("MODEL_PRIVATE_11")).toBe("claude-haiku-4.5");
    expect(state.asked).toBe(1);
  });

  it("is what is known without a list where none was read, and the UID where that is nothing", () => {
    const { state, models } = account();
    expect(models.nameOf("MODEL_SWE_1_5")).toBe("swe-1.5");
    expect(models.nameOf("claude-opus-9-high")).toBe("claude-opus-9:high");
    expect(models.nameOf("MODEL_PRIVATE_7")).toBe("MODEL_PRIVATE_7");
    expect(state.asked).toBe(0);
  });
});

/** A model as an agent lists it. */
const listed = (id: string, label = id) => ({ id, label, isCurrent: false });

describe("the models of the vendor's agent", () => {
  const agent = [
    { id: "swe-2-high", label: "SWE-2 High", isCurrent: true },
    listed("swe-2-medium", "SWE-2"),
    listed("claude-opus-5-max", "Claude Opus 5 Max"),
    listed("MODEL_PRIVATE_11", "Claude Haiku 4.5"),
    listed("MODEL_CLAUDE_4_5_OPUS", "Claude Opus 4.5"),
    listed("swe-1-6-slow", "SWE-1.6 Slow"),
  ];
  const withStatus = (status: boolean) =>
    openModels(
      { account: async () => ({ status: status ? fakeStatus(fakeModels) : undefined, agent, backend: "acp" }) },
      { clock: new FakeClock() },
    );

  it("are named as the account's own list names them", async () => {
    const list = await withStatus(false).list({ refresh: false }, never);
    expect(list.map(({ uid, name, vendor, isDefault }) => [uid, name, vendor, isDefault])).toEqual([
      ["swe-2-high", "swe-2:high", "cognition", true],
      ["swe-2-medium", "swe-2:medium", "cognition", false],
      ["claude-opus-5-max", "claude-opus-5:max", "anthropic", false],
      ["MODEL_PRIVATE_11", "claude-haiku-4.5", "anthropic", false],
      ["MODEL_CLAUDE_4_5_OPUS", "claude-opus-4.5", "anthropic", false],
      ["swe-1-6-slow", "swe-1.6:slow", "cognition", false],
    ]);
  });

  it("are those that can be called, with what the language server adds", async () => {
    const list = await withStatus(true).list({ refresh: false }, never);
    expect(list).toHaveLength(agent.length);
    expect(list.find(({ uid }) => uid === "MODEL_CLAUDE_4_5_OPUS")).toMatchObject({
      number: 391,
      contextTokens: 200_000,
      maxOutputTokens: 64_000,
      creditMultiplier: 4,
      supportsImages: true,
    });
    expect(list.find(({ uid }) => uid === "claude-opus-5-max")?.disabledReason).toBeUndefined();
  });

  it("are resolved with their effort", async () => {
    const models = withStatus(false);
    expect((await models.resolve("swe-2", "high", never)).model.uid).toBe("swe-2-high");
    expect((await models.resolve("swe-2", undefined, never)).model.uid).toBe("swe-2-medium");
    expect((await models.resolve("claude-opus-4-5", undefined, never)).model.uid).toBe("MODEL_CLAUDE_4_5_OPUS");
  });
});

describe("the models of configured agents", () => {
  const gone = new MillraceError("ide_not_running", "No IDE runs.");
  function configured() {
    const state = { asked: 0, account: undefined as Error | undefined, agent: undefined as Error | undefined };
    const problems: string[] = [];
    const agent = {
      name: "opencode",
      models: async () => {
        state.asked++;
        if (state.agent !== undefined) throw state.agent;
        return [listed("mock/gpt-5-high"), listed("mock/gpt-5-low"), { ...listed("mock/m1"), isCurrent: true }];
      },
    };
    const account = async () => {
      if (state.account !== undefined) throw state.account;
      return { status: fakeStatus(fakeModels), agent: undefined, backend: "cascade" as const };
    };
    const events = new Emitter<ModelLifecycle>();
    events.on("agent_models_unread", (unread) => problems.push(unread.agent));
    const options = { clock: new FakeClock(), events };
    return { state, problems, models: openModels({ account, agents: [agent] }, options) };
  }

  it("follow the account's, by the agent's name and the agent's own id", async () => {
    const { models } = configured();
    const list = await models.list({ refresh: false }, never);
    expect(list).toHaveLength(fakeModels.length + 3);
    expect(list.slice(-3).map(({ uid, name, vendor, isDefault }) => [uid, name, vendor, isDefault])).toEqual([
      ["opencode/mock/gpt-5-high", "opencode/mock/gpt-5-high", "openai", false],
      ["opencode/mock/gpt-5-low", "opencode/mock/gpt-5-low", "openai", false],
      ["opencode/mock/m1", "opencode/mock/m1", "opencode", false],
    ]);
    expect(models.nameOf("opencode/mock/m1")).toBe("opencode/mock/m1");
    expect(models.nameOf("gone/mock/m2")).toBe("gone/mock/m2");
  });

  it("are listed alone where no account is signed in with the IDE", async () => {
    const { state, models } = configured();
    state.account = gone;
    expect(await models.list({ refresh: false }, never)).toHaveLength(3);
    state.agent = new Error("does not start");
    await expect(models.list({ refresh: true }, never)).rejects.toThrow("No IDE runs.");
    await expect(models.list({ refresh: true }, never)).rejects.toThrow(
      "The agent opencode could not list its models.",
    );
    const hint = "Sign in with the agent's own command: start `/bin/oc` in a terminal, then try again.";
    state.agent = new MillraceError("not_signed_in", 'The agent "opencode" has no account.', { hint });
    await expect(models.list({ refresh: true }, never)).rejects.toMatchObject({
      code: "not_signed_in",
      message: 'The agent "opencode" has no account. No IDE runs.',
      hint,
    });
    const slow = configured();
    slow.state.account = gone;
    slow.state.agent = new MillraceError("upstream_timeout", "slow");
    await expect(slow.models.list({ refresh: true }, never)).rejects.toMatchObject({
      code: "unavailable",
      message: "The agent opencode is still starting, so there are no models yet.",
      retryAfterMs: 3_000,
    });
  });

  it("are left out, and told of, while the agent does not answer", async () => {
    const { state, problems, models } = configured();
    state.agent = new Error("does not start");
    expect(await models.list({ refresh: false }, never)).toHaveLength(fakeModels.length);
    expect(problems).toEqual(["opencode"]);
  });

  it("are left out of a list after five seconds, with a report that names the agent", async () => {
    const clock = new FakeClock();
    const events = new Emitter<ModelLifecycle>();
    const reports: string[] = [];
    events.on("agent_models_unread", ({ error }) => reports.push(String(error)));
    const agent = { name: "opencode", models: () => new Promise<never>(() => {}) };
    const account = async () => ({ status: fakeStatus(fakeModels), agent: undefined, backend: "cascade" as const });
    const listing = openModels({ account, agents: [agent] }, { clock, events }).list({ refresh: false }, never);
    await clock.advance(5_000);
    expect(await listing).toHaveLength(fakeModels.length);
    expect(reports).toEqual([expect.stringContaining("The agent opencode has not listed its models within 5 s.")]);
  });

  it("are waited for by a request that names one until the agent is too slow, and are there for a later request", async () => {
    const [answers, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<MillraceError>()];
    let asked = 0;
    const agent = {
      name: "opencode",
      async models() {
        asked++;
        await answers.promise;
        return [listed("mock/m1")];
      },
      untilSlow: () => slow.promise,
    };
    const account = () => Promise.reject(gone);
    const models = openModels({ account, agents: [agent] }, { clock: new FakeClock() });
    const first = models.resolve("opencode/mock/m1", undefined, never);
    slow.resolve(new MillraceError("upstream_timeout", "The agent wrote nothing."));
    await expect(first).rejects.toThrow("The agent wrote nothing.");
    answers.resolve();
    expect(await models.list({ refresh: false }, never)).toHaveLength(1);
    expect((await models.resolve("opencode/mock/m1", undefined, never)).model.uid).toBe("opencode/mock/m1");
    expect(asked).toBe(1);
  });

  it("are meant by their prefix alone, and then the account is not asked", async () => {
    const { state, models } = configured();
    state.account = gone;
    expect((await models.resolve("opencode/mock/m1", undefined, never)).model.uid).toBe("opencode/mock/m1");
    expect((await models.resolve("OpenCode/GPT-5:high", undefined, never)).model.uid).toBe("opencode/mock/gpt-5-high");
    await expect(models.resolve("gpt-5", undefined, never)).rejects.toThrow("No IDE runs.");
  });

  it("never answer for a name without the prefix, and are suggested", async () => {
    const { models } = configured();
    await models.list({ refresh: false }, never);
    await expect(models.resolve("m1", undefined, never)).rejects.toMatchObject({
      code: "unknown_model",
      details: { nearest: expect.arrayContaining(["opencode/mock/m1"]) as unknown },
    });
    await expect(models.resolve("opencode/mock/m9", undefined, never)).rejects.toThrow(
      'The agent opencode has no model "opencode/mock/m9". Nearest: opencode/mock/m1',
    );
  });

  it("of more than 200 characters are unknown before any list is asked for", async () => {
    const { state, models } = configured();
    state.account = gone;
    const name = "a-".repeat(4_000_000);
    for (const long of [name, `opencode/${name}`])
      await expect(models.resolve(long, undefined, never)).rejects.toMatchObject({
        code: "unknown_model",
        message: expect.stringContaining("more than 200 characters") as unknown,
      });
  });
});
