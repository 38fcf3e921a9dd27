import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { accountModels } from "../../simulator/parts.ts";
import { UserStatusSchema } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { fakeStatus } from "./account.fake.ts";
import { modelsOf } from "./account-models.ts";
import { createCatalogue } from "./catalogue.ts";
import { covers } from "./newest.ts";
import { resolveModel } from "./resolve.ts";

const catalogue = createCatalogue();
const listed = (...uids: string[]) =>
  modelsOf(fakeStatus(uids.map((modelUid) => ({ modelUid, label: "" }))), catalogue);

it.each([
  ["claude-opus-4.7", "claude-opus-4.7:high", true],
  ["Claude Opus 4.7", "claude-opus-4.7:low", true],
  ["anthropic/claude-opus-4-7-high", "claude-opus-4.7:high", true],
  ["claude-opus", "claude-opus-4.7:high", true],
  ["sonnet", "claude-sonnet-5", true],
  ["gpt-5.2:medium", "gpt-5.2", true],
  ["claude-opus-4.7:high", "claude-opus-4.7:low", false],
  ["claude-opus-4.7", "claude-opus-4.7:fast", false],
  ["claude-opus-4", "claude-opus-4.7", false],
  ["gpt", "gpt-6-1-codex-high", false],
  ["gpt-5", "gpt-5-codex", false],
])("%s covers %s: %s", (name, model, does) => expect(covers(name, model)).toBe(does));

describe("the short name of a family", () => {
  it.each([
    ["opus", "claude-opus-5-5-medium"],
    ["Sonnet", "claude-sonnet-5-medium"],
    ["claude-sonnet", "claude-sonnet-5-medium"],
    ["swe", "swe-2-high"],
    ["gpt", "gpt-6-sol-medium"],
    ["codex", "gpt-6-1-codex-high"],
    ["gemini", "gemini-3-1-pro"],
  ])("%s is its newest model: %s", (name, uid) => {
    const uids = [
      "claude-opus-4-7-medium claude-opus-5-5-max claude-opus-5-5-medium claude-sonnet-5-medium swe-1-6-slow swe-1-7",
      "swe-2-high gpt-6-sol-medium gpt-5-5-medium gpt-6-2-mini gpt-6-1-codex-high gpt-5-3-codex-high gemini-3-1-pro",
      "gemini-4-flash",
    ];
    const models = listed(...uids.join(" ").split(" "));
    expect(resolveModel(models, name, undefined)).toMatchObject({ rule: "newest", model: { uid } });
  });

  it("takes the effort of the request, and means a smaller model where there is no other", () => {
    const models = listed("claude-opus-5-5-low", "claude-opus-5-5-high", "gemini-4-flash");
    expect(resolveModel(models, "opus", "high").model.uid).toBe("claude-opus-5-5-high");
    expect(resolveModel(models, "gemini", undefined).model.uid).toBe("gemini-4-flash");
    expect(() => resolveModel(models, "sonnet", undefined)).toThrow(/no model "sonnet"/);
    expect(() => resolveModel(models, "claude-gemini", undefined)).toThrow(/no model "claude-gemini"/);
  });
});

describe("an account with 385 models that no table names", () => {
  const models = modelsOf(
    create(UserStatusSchema, { cascadeModelConfigData: { clientModelConfigs: accountModels(385) } }),
    catalogue,
  );

  it("has a name, vendor and family for each, and an effort where the name tells one", () => {
    expect(models).toHaveLength(385);
    expect(new Set(models.map(({ name }) => name.toLowerCase())).size).toBe(385);
    expect(models.filter(({ vendor, family }) => vendor === "unknown" || !family)).toEqual([]);
    const byUid = (uid: string) => models.find((model) => model.uid === uid);
    expect(byUid("gpt-6-sol-high")).toMatchObject({
      name: "gpt-6-sol:high",
      vendor: "openai",
      family: "gpt-6-sol",
      effort: "high",
    });
    expect(byUid("claude-opus-5-5-max")).toMatchObject({
      name: "claude-opus-5.5:max",
      vendor: "anthropic",
      effort: "max",
    });
  });

  it("resolves each of its names to the model itself", () => {
    for (const model of models.filter(({ disabledReason }) => disabledReason === undefined)) {
      expect(resolveModel(models, model.name, undefined).model.uid).toBe(model.uid);
    }
  });
});
