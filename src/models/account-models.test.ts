import { describe, expect, it } from "vitest";
import { ModelCostTier, ModelPricingType, ModelProvider } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { type FakeModel, fakeModels, fakeStatus, numbered } from "./account.fake.ts";
import { modelsOf } from "./account-models.ts";
import { createCatalogue } from "./catalogue.ts";

const catalogue = createCatalogue();

function one(model: FakeModel, defaultUid?: string) {
  return modelsOf(fakeStatus([model], defaultUid), catalogue)[0];
}

describe("a model of the account", () => {
  it("has its limits, number, price and vendor", () => {
    expect(one(fakeModels[0] ?? {}, "MODEL_CLAUDE_4_5_OPUS")).toEqual({
      uid: "MODEL_CLAUDE_4_5_OPUS",
      number: 391,
      enumName: "MODEL_CLAUDE_4_5_OPUS",
      name: "claude-opus-4.5",
      label: "Claude Opus 4.5",
      vendor: "anthropic",
      contextTokens: 200_000,
      maxOutputTokens: 64_000,
      supportsImages: true,
      creditMultiplier: 4,
      costTier: undefined,
      isNew: false,
      isDefault: true,
      disabledReason: undefined,
      family: "claude-opus-4-5",
      effort: undefined,
      isDefaultInFamily: false,
    });
  });

  it("is named by its label if its UID is a slot of the account, independent of other accounts", () => {
    expect(one(numbered(220, "MODEL_PRIVATE_2", "GPT-7 High Thinking"))).toMatchObject({
      name: "gpt-7:high",
      vendor: "openai",
      effort: "high",
    });
  });

  it("is named by its UID if it is not in the catalogue yet", () => {
    expect(one({ modelUid: "claude-opus-9-2-xhigh-fast", label: "Claude Opus 9.2 X-High Fast" })).toMatchObject({
      name: "claude-opus-9.2:xhigh-fast",
      vendor: "anthropic",
      effort: "xhigh",
      family: "claude-opus-9-2",
      number: undefined,
    });
  });

  it("keeps apart an effort with thinking and one without, in each order", () => {
    const uids = ["claude-opus-9-2-high-thinking", "claude-opus-9-2-high"];
    for (const order of [uids, uids.toReversed()]) {
      const status = fakeStatus(order.map((modelUid) => ({ modelUid, label: "Claude Opus 9.2 High" })));
      const names = modelsOf(status, catalogue).map(({ uid, name }) => [uid, name]);
      expect(Object.fromEntries(names)).toEqual({
        "claude-opus-9-2-high-thinking": "claude-opus-9.2:high-thinking",
        "claude-opus-9-2-high": "claude-opus-9.2:high",
      });
    }
  });

  it("keeps the UID of a pair of models as its name", () => {
    const uid = "claude-opus-5-5+swe-1-7";
    expect(one({ modelUid: uid, label: "Opus 5.5 + SWE 1.7" })?.name).toBe(uid);
  });

  it("has the UID of its number on builds that have no other, and its number where only the UID says it", () => {
    expect(one(numbered(391, "", "Claude Opus 4.5"))?.uid).toBe("MODEL_CLAUDE_4_5_OPUS");
    expect(one({ modelUid: "MODEL_CLAUDE_4_5_OPUS", label: "x" })?.number).toBe(391);
    expect(one({ label: "y", modelOrAlias: { choice: { case: "modelUid", value: "kimi-k2-6" } } })?.uid).toBe(
      "kimi-k2-6",
    );
    expect(modelsOf(fakeStatus([{ label: "nameless" }]), catalogue)).toEqual([]);
  });

  it("takes family and effort from the picker before its name", () => {
    const model = one({
      modelUid: "kimi-k9",
      label: "Kimi K9",
      modelFamilyMetadata: {
        modelFamilyLabel: "Kimi",
        entries: [{ label: "Reasoning Effort", value: { order: 3, name: "High" } }],
      },
    });
    expect([model?.family, model?.effort]).toEqual(["Kimi", "high"]);
  });

  it("has one form of its name, whichever the vendor took", () => {
    const names = (models: readonly FakeModel[]) =>
      modelsOf(fakeStatus([...models]), catalogue).map(({ name }) => name);
    expect(
      names([
        { modelUid: "MODEL_CLAUDE_4_5_OPUS", label: "Claude Opus 4.5" },
        { modelUid: "MODEL_CLAUDE_4_5_OPUS_THINKING", label: "Claude Opus 4.5 Thinking" },
        { modelUid: "claude-opus-4-6-thinking", label: "Claude Opus 4.6 Thinking" },
      ]),
    ).toEqual(["claude-opus-4.5", "claude-opus-4.5:thinking", "claude-opus-4.6:thinking"]);
  });

  it("is free only where a price in credits says so", () => {
    expect(one({ modelUid: "a", pricingType: ModelPricingType.STATIC_CREDIT })?.creditMultiplier).toBe(0);
    expect(one({ modelUid: "a" })?.creditMultiplier).toBeUndefined();
    const priced = { modelUid: "b", creditMultiplier: 2 };
    const multipliers = (model: FakeModel) =>
      modelsOf(fakeStatus([model, priced]), catalogue).map(({ creditMultiplier }) => creditMultiplier);
    expect(multipliers({ modelUid: "a" })).toEqual([0, 2]);
    expect(multipliers({ modelUid: "a", pricingType: ModelPricingType.BYOK })).toEqual([undefined, 2]);
    expect(one({ modelUid: "a", modelCostTier: ModelCostTier.FREE })?.costTier).toBe("free");
  });

  it("says why it is disabled, also when the IDE does not", () => {
    expect(one({ modelUid: "adaptive" })?.disabledReason).toBe("only the IDE itself can choose it");
    expect(one({ modelUid: "a", disabled: true })?.disabledReason).toBe("not included in this plan");
    const reason = { shortReason: "Upgrade", description: "Pro only" };
    expect(one({ modelUid: "a", disabled: true, disabledReason: reason })?.disabledReason).toBe("Upgrade: Pro only");
    expect(one({ modelUid: "a", disabledReason: reason })?.disabledReason).toBeUndefined();
  });

  it("has a vendor also where the server does not know the provider", () => {
    expect(one({ modelUid: "fable-5-1", label: "Fable 5.1" })?.vendor).toBe("anthropic");
    expect(one({ modelUid: "a", provider: ModelProvider.QWEN })?.vendor).toBe("alibaba");
    expect(one({ modelUid: "glm-5-2", label: "GLM 5.2" })?.vendor).toBe("zhipu");
    expect(one({ modelUid: "swe-9", label: "SWE 9" })?.vendor).toBe("cognition");
    expect(one({ modelUid: "zzz", label: "" })?.vendor).toBe("unknown");
  });
});
