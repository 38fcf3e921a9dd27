import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { proves } from "../../test/support/proves.ts";
import { isMillraceError, type MillraceError } from "../base/errors.ts";
import { fakeModels, fakeStatus, numbered } from "./account.fake.ts";
import { modelsOf } from "./account-models.ts";
import { createCatalogue } from "./catalogue.ts";
import { shapeOf } from "./model-shape.ts";
import { resolveModel } from "./resolve.ts";

const catalogue = createCatalogue();
const models = modelsOf(fakeStatus(fakeModels), catalogue);

function uidOf(name: string, effort?: string): string {
  const { model, rule } = resolveModel(models, name, effort);
  return `${model.uid} ${rule}`;
}

function failureOf(name: string, list = models): MillraceError {
  try {
    resolveModel(list, name, undefined);
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
  throw new Error(`${name} resolved`);
}

describe("a name is", () => {
  it.each([
    ["MODEL_CLAUDE_4_5_OPUS", "MODEL_CLAUDE_4_5_OPUS uid"],
    ["claude-opus-4-7-high", "claude-opus-4-7-high uid"],
    ["Claude-Opus-4-7-High", "claude-opus-4-7-high uid"],
    ["MODEL_PRIVATE_2", "MODEL_PRIVATE_2 uid"],
  ])("a UID: %s", (name, expected) => expect(uidOf(name)).toBe(expected));

  it.each([
    ["claude-opus-4.5", "MODEL_CLAUDE_4_5_OPUS name"],
    ["claude-opus-4.7:high", "claude-opus-4-7-high name"],
    ["gpt-5.2", "MODEL_GPT_5_2_MEDIUM name"],
    ["gpt-5.2:priority", "MODEL_GPT_5_2_MEDIUM_PRIORITY name"],
    ["gpt-5.1:low", "MODEL_PRIVATE_13 name"],
    ["brand-new-9:high", "brand-new-9-high name"],
  ])("the name shown: %s", (name, expected) => expect(uidOf(name)).toBe(expected));

  it.each([
    ["gpt-5.2-low", "MODEL_GPT_5_2_LOW variant"],
    ["gpt-5-2-high", "MODEL_GPT_5_2_HIGH variant"],
    ["gpt-5.2:medium", "MODEL_GPT_5_2_MEDIUM variant"],
    ["claude-opus-4.7", "claude-opus-4-7-medium variant"],
    ["claude-opus-4.7:fast", "claude-opus-4-7-medium-fast variant"],
    ["gpt-5.5", "gpt-5-5-high variant"],
    ["claude-opus-4.5-thinking", "MODEL_CLAUDE_4_5_OPUS_THINKING variant"],
    ["claude-4.5-opus", "MODEL_CLAUDE_4_5_OPUS variant"],
    ["claude-4.5-opus:thinking", "MODEL_CLAUDE_4_5_OPUS_THINKING variant"],
    ["anthropic/claude-opus-4.7:high", "claude-opus-4-7-high variant"],
    ["claude-4.7-opus-high", "claude-opus-4-7-high variant"],
  ])("a name with its variant, or a family's own default: %s", (name, expected) => expect(uidOf(name)).toBe(expected));

  it.each([
    ["Claude Opus 4.5", "MODEL_CLAUDE_4_5_OPUS variant"],
    ["claude-opus-4-5-20251101", "MODEL_CLAUDE_4_5_OPUS alias"],
    ["claude-sonnet-4-5-20250929", "MODEL_PRIVATE_2 alias"],
    ["claude-haiku-4-5@20251001", "MODEL_PRIVATE_11 alias"],
    ["claude-opus-4-7-latest", "claude-opus-4-7-medium alias"],
    ["claude-sonnet-4-5[1m]", "MODEL_CLAUDE_4_5_SONNET_1M variant"],
    ["claude-sonnet-4-5-20250929[1m]", "MODEL_CLAUDE_4_5_SONNET_1M alias"],
    ["gemini-3-pro-high[1m]", "MODEL_GOOGLE_GEMINI_3_0_PRO_HIGH alias"],
    ["swe-1.5", "MODEL_SWE_1_5_SLOW alias"],
    ["opus-4.7:high", "claude-opus-4-7-high alias"],
    ["4.5-haiku", "MODEL_PRIVATE_11 alias"],
  ])("an alias: %s", (name, expected) => {
    proves("messages.model-ids", "models.neutral-names");
    expect(uidOf(name)).toBe(expected);
  });

  it("the enum's name, where the UID is another", () => {
    const list = modelsOf(fakeStatus([numbered(420, "swe-1-6", "SWE-1.6")]), catalogue);
    expect(resolveModel(list, "MODEL_SWE_1_6", undefined)).toMatchObject({ rule: "enum", model: { uid: "swe-1-6" } });
  });
});

describe("an effort", () => {
  it.each([
    ["gpt-5.2", "high", "MODEL_GPT_5_2_HIGH effort"],
    ["gpt-5.2", "medium", "MODEL_GPT_5_2_MEDIUM name"],
    ["gpt-5.2", "minimal", "MODEL_GPT_5_2_NONE effort"],
    ["gpt-5.2", "xhigh", "MODEL_GPT_5_2_HIGH effort"],
    ["claude-opus-4.7", "low", "claude-opus-4-7-low effort"],
    ["claude-4.5-opus", "high", "MODEL_CLAUDE_4_5_OPUS_THINKING effort"],
    ["claude-4.5-opus-thinking", "none", "MODEL_CLAUDE_4_5_OPUS effort"],
    ["claude-sonnet-4.5", "low", "MODEL_PRIVATE_3 effort"],
  ])("picks the variant of %s: %s", (name, effort, expected) => expect(uidOf(name, effort)).toBe(expected));

  it.each([
    ["gpt-5.2:low", "high", "MODEL_GPT_5_2_LOW name"],
    ["MODEL_GPT_5_2_LOW", "high", "MODEL_GPT_5_2_LOW uid"],
    ["kimi-k2.6", "high", "kimi-k2-6 name"],
    ["gpt-5.2", "as you like", "MODEL_GPT_5_2_MEDIUM name"],
  ])("does not override %s", (name, effort, expected) => expect(uidOf(name, effort)).toBe(expected));

  it("never picks a variant that may not be called", () => {
    const list = modelsOf(
      fakeStatus([
        { label: "A Low", modelUid: "a-1-low" },
        { label: "A High", modelUid: "a-1-high", disabled: true },
      ]),
      catalogue,
    );
    expect(resolveModel(list, "a-1-low", "high").model.uid).toBe("a-1-low");
  });
});

/** The base of the answer, in the spelling that is the asked one if there is such; nothing where the answer is no. */
function baseOfAnswer(name: string, effort: string | undefined): string | undefined {
  try {
    const { model } = resolveModel(models, name, effort);
    const bases = [model.name, model.uid, model.label].map((text) => shapeOf(text).base);
    const asked = [shapeOf(name).base, shapeOf(`claude-${name}`).base];
    return bases.find((base) => asked.includes(base)) ?? `${name} got ${model.name}`;
  } catch (error) {
    if (isMillraceError(error) && ["unknown_model", "model_not_allowed"].includes(error.code)) return undefined;
    throw error;
  }
}

describe("a request never gets a model that it did not ask for", () => {
  it("an unknown name is an error that names the nearest three", () => {
    const error = failureOf("gpt-5.2-hihg");
    expect(error.code).toBe("unknown_model");
    expect(error.param).toBe("model");
    expect(error.details).toMatchObject({ nearest: expect.arrayContaining(["gpt-5.2:high"]) });
    expect(error.message).toContain("gpt-5.2:high");
  });

  it.each([
    "",
    " ",
    "claude",
    "llama",
    "default",
    "gpt-5.2:ultra",
    "claude-sonnet-4-5:fast",
    "kimi-k2.6[1m]",
    "MODEL_PRIVATE_30",
    "MODEL_CLAUDE_4_5_SONNET",
  ])("%j is unknown", (name) => expect(failureOf(name).code).toBe("unknown_model"));

  it("a disabled one is named with the reason that the IDE gives", () => {
    const error = failureOf("claude-opus-5:max");
    expect([error.code, error.message]).toEqual([
      "model_not_allowed",
      "claude-opus-5:max cannot be used: Upgrade to Pro.",
    ]);
  });

  it("an empty list says so", () => {
    expect(failureOf("gpt-5.2", []).message).toContain("empty");
  });

  it("an answer always has the base of the model that was asked for", () => {
    const words = fc.constantFrom(
      "gpt",
      "claude",
      "opus",
      "5",
      "2",
      "4",
      "7",
      "high",
      "low",
      "fast",
      "thinking",
      "1m",
      "mini",
      "swe",
    );
    const asked = fc.tuple(fc.array(words, { minLength: 1, maxLength: 6 }), fc.constantFrom("-", ".", ":", " ", "_"));
    fc.assert(
      fc.property(asked, fc.constantFrom(undefined, "low", "high", "none"), ([parts, separator], effort) => {
        const name = parts.join(separator);
        const answer = baseOfAnswer(name, effort);
        if (/^(?:opus|claude-opus|gpt|swe)$/i.test(name)) return; // a short name means the newest
        expect([undefined, shapeOf(name).base]).toContain(answer);
      }),
      { numRuns: 100 },
    );
  });
});

describe("every list that a server may give", () => {
  const token = fc.constantFrom(
    "gpt",
    "claude",
    "opus",
    "sonnet",
    "5",
    "4",
    "1",
    "2",
    "0",
    "codex",
    "max",
    "high",
    "low",
    "medium",
    "fast",
    "thinking",
    "1m",
    "none",
  );
  const dashed = fc.array(token, { minLength: 1, maxLength: 6 }).map((parts) => parts.join("-"));
  const uid = fc.oneof(
    { weight: 3, arbitrary: dashed },
    { weight: 2, arbitrary: fc.constantFrom(...catalogue.entries.map((entry) => entry.uid)) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 30 }).map((n) => `MODEL_PRIVATE_${n}`) },
    { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 8 }) },
  );
  const label = fc.oneof(
    dashed,
    fc.constantFrom(...catalogue.entries.map((entry) => entry.label)),
    fc.string({ maxLength: 12 }),
  );
  const configs = fc.array(fc.record({ modelUid: uid, label }), { maxLength: 12 });

  it("has each UID once and each name once, and the same names when it is read again", () => {
    fc.assert(
      fc.property(configs, (list) => {
        const found = modelsOf(fakeStatus(list), catalogue);
        expect(found.map((model) => model.uid)).toEqual([...new Set(list.map((config) => config.modelUid))]);
        expect(new Set(found.map((model) => model.name.toLowerCase())).size).toBe(found.length);
        expect(modelsOf(fakeStatus([...list, ...list]), catalogue)).toEqual(found);
      }),
    );
  });

  it("gives every model that can be called by its UID and by its name", () => {
    fc.assert(
      fc.property(configs, (list) => {
        const found = modelsOf(fakeStatus(list), catalogue);
        const callable = found.filter(({ disabledReason }) => disabledReason === undefined);
        const bare = callable.filter(({ uid, name }) => uid.trim() === uid && name.trim() === name);
        const uids = bare.map(({ uid }) => uid);
        expect(bare.map(({ uid }) => resolveModel(found, uid, "high").model.uid)).toEqual(uids);
        expect(bare.map(({ name }) => resolveModel(found, name, undefined).model.uid)).toEqual(uids);
      }),
    );
  });
});
