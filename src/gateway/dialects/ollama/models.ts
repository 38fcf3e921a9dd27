import type { JsonObject } from "../../../base/json.ts";

/** What Ollama's lists tell of a model. */
export interface OllamaModel {
  readonly name: string;
  readonly uid: string;
  readonly vendor: string;
  readonly family: string | undefined;
  readonly contextTokens: number | undefined;
  readonly supportsImages: boolean;
}

/** The version whose API this is: editors ask for it and need a new one. */
export const ollamaVersion = "0.13.0";

/** A model as `GET /api/tags` lists it. `modifiedAt`: one for all, since clients compare polls. */
export function ollamaTag(model: OllamaModel, modifiedAt: string): JsonObject {
  return {
    name: model.name,
    model: model.name,
    modified_at: modifiedAt,
    size: 0,
    digest: model.uid,
    details: detailsOf(model),
  };
}

/** A model as `POST /api/show` describes it. */
export function ollamaShow(model: OllamaModel, modifiedAt: string): JsonObject {
  const { vendor, contextTokens, supportsImages } = model;
  return {
    modelfile: "",
    parameters: "",
    template: "",
    details: detailsOf(model),
    model_info: {
      "general.architecture": vendor,
      "general.basename": model.name,
      ...(contextTokens === undefined ? {} : { [`${vendor}.context_length`]: contextTokens }),
    },
    capabilities: ["completion", "tools", "thinking", ...(supportsImages ? ["vision"] : [])],
    modified_at: modifiedAt,
  };
}

function detailsOf({ vendor, family }: OllamaModel): JsonObject {
  const own = family ?? vendor;
  return { parent_model: "", format: "", family: own, families: [own], parameter_size: "", quantization_level: "" };
}
