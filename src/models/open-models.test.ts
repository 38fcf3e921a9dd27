import { describe, expect, it } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { fakeModels, fakeStatus } from "./account.fake.ts";
import { openModels } from "./open-models.ts";

const never = new AbortController().signal;

function account() {
  const clock = new FakeClock();
  const state = { asked: 0, models: fakeModels, failure: undefined as Error | undefined };
  const models = openModels(
    async () => {
      state.asked++;
      if (state.failure !== undefined) throw state.failure;
      return fakeStatus(state.models);
    },
    { clock },
  );
  return { clock, state, models };
}

describe("the list of models", () => {
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
