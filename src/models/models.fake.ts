import { MillraceError } from "../base/errors.ts";
import type { ModelUid } from "../base/ids.ts";
import type { Model, Models, Resolution } from "./model.ts";

/** A callable model of which only the name matters; any field can be given. */
export function fakeModelOf(name: string, fields: Partial<Model> = {}): Model {
  return {
    uid: `uid-${name}` as ModelUid,
    number: undefined,
    enumName: undefined,
    name,
    label: name.toUpperCase(),
    vendor: "test-vendor",
    contextTokens: 200_000,
    maxOutputTokens: 64_000,
    supportsImages: true,
    creditMultiplier: 1,
    costTier: "low",
    isNew: false,
    isDefault: false,
    disabledReason: undefined,
    family: undefined,
    effort: undefined,
    backend: undefined,
    ...fields,
  };
}

/** A fixed list of models, resolved by exact name or uid. */
export class FakeModels implements Models {
  models: readonly Model[];
  /** The error that both calls throw, for tests without an IDE. */
  fails: MillraceError | undefined;

  constructor(models: readonly Model[] = [fakeModelOf("test-model"), fakeModelOf("claude-test:high")]) {
    this.models = models;
  }

  async list(): Promise<readonly Model[]> {
    if (this.fails !== undefined) throw this.fails;
    return this.models;
  }

  nameOf(uid: string): string {
    return this.models.find((model) => model.uid === uid)?.name ?? uid;
  }

  async resolve(name: string): Promise<Resolution> {
    if (this.fails !== undefined) throw this.fails;
    const asked = name.replace(/:latest$/, "");
    const model = this.models.find((candidate) => candidate.name === asked || candidate.uid === asked);
    if (model === undefined) {
      const nearest = this.models.slice(0, 3).map((candidate) => candidate.name);
      throw new MillraceError("unknown_model", `There is no model \`${name}\`.`, {
        param: "model",
        details: { nearest },
      });
    }
    return { model, asked: name, rule: model.name === name ? "name" : "uid" };
  }
}
