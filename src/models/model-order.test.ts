import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { accountModels } from "../../simulator/parts.ts";
import { UserStatusSchema } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { modelsOf } from "./account-models.ts";
import { createCatalogue } from "./catalogue.ts";
import { inOrder } from "./model-order.ts";
import { fakeModelOf } from "./models.fake.ts";

const names = (models: Parameters<typeof inOrder>[0], used: Readonly<Record<string, number>> = {}) =>
  inOrder(models, new Map(Object.entries(used))).map(({ name }) => name);

it("puts what was used last first, then the default, then the newest of each family, then the rest, newest first", () => {
  const models = [
    "MODEL_PRIVATE_2",
    "claude-opus-4.5",
    "claude-opus-4.7:low",
    "claude-opus-4.7:medium",
    "gpt-5.10",
    "gpt-5.9",
    "gpt-5.2-codex",
    "kimi-k2",
    "agent/claude-opus-4.7",
  ].map((name) => fakeModelOf(name));
  const [first, ...others] = names(models, { "uid-gpt-5.9": 2, "uid-claude-opus-4.5": 3 });
  expect([first, ...others]).toEqual([
    "claude-opus-4.5",
    "gpt-5.9",
    "claude-opus-4.7:medium",
    "gpt-5.10",
    "gpt-5.2-codex",
    "kimi-k2",
    "agent/claude-opus-4.7",
    "claude-opus-4.7:low",
    "MODEL_PRIVATE_2",
  ]);
});

it("puts the account's default before the newest ones, and at the end what cannot be called, also where it was used", () => {
  const models = [
    fakeModelOf("gone-2", { disabledReason: "not in your plan" }),
    fakeModelOf("gone-1"),
    fakeModelOf("b"),
    fakeModelOf("d", { isDefault: true }),
  ];
  expect(names(models, { "uid-gone-2": 5 })).toEqual(["d", "gone-1", "b", "gone-2"]);
});

it("begins a list of 385 models with one of each family, loses none, and does not depend on the names' order", () => {
  const status = create(UserStatusSchema, { cascadeModelConfigData: { clientModelConfigs: accountModels(385) } });
  const models = modelsOf(status, createCatalogue());
  const ordered = names(models);
  expect(ordered.toSorted()).toEqual(models.map(({ name }) => name).toSorted());
  expect(ordered.slice(0, 8)).toMatchInlineSnapshot(`
    [
      "claude-opus-5.5:medium",
      "claude-sonnet-5:medium",
      "claude-haiku-4.5",
      "gpt-5.5:medium",
      "gpt-6.1-codex:medium",
      "gemini-3.5-flash:medium",
      "gemini-4-pro:medium",
      "grok-code-fast-1",
    ]
  `);
});
