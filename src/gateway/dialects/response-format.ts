import { z } from "zod";
import { isObject } from "../../base/json.ts";
import type { ResponseFormat } from "../../log/request.ts";
import { refuse } from "./parse-body.ts";

const format = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("text") }),
    z.object({ type: z.literal("json_object") }),
    z.object({
      type: z.literal("json_schema"),
      name: z.string().nullish(),
      schema: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
    }),
  ])
  .nullish();

/** The form of an answer, as any API writes it. */
const formatSchema = z.preprocess(flatFormat, format);

/** Ollama names a form in a word. */
const words: Readonly<Record<string, string>> = { "": "text", text: "text", json: "json_object" };
const ofSchemas = ["properties", "items", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"];

/**
 * A form as Responses have it: Chat Completions put name and schema into a member of their own, Ollama has a word or a bare schema, and local
 * servers have a schema beside `json_object`. Other values stay.
 */
function flatFormat(given: unknown): unknown {
  if (typeof given === "string") return { type: words[given.toLowerCase()] ?? given };
  if (!isObject(given)) return given;
  if (Object.keys(given).length === 0) return { type: "text" };
  const { type, json_schema: inside, schema } = given;
  if (isObject(inside)) return { ...inside, type: "json_schema" };
  if (type === "json_object" && isObject(schema)) return { ...given, type: "json_schema" };
  const isTyped = typeof type === "string" && /^(?:text|json_object|json_schema)$/.test(type);
  const isSchema = type === "object" || type === "array" || ofSchemas.some((name) => name in given);
  return !isTyped && isSchema ? { type: "json_schema", schema: given } : given;
}

/** The members of any API that demand a form; a body has one of them. */
export const formatMembers = {
  response_format: formatSchema,
  text: z.looseObject({ format: formatSchema }).nullish(),
  output_config: z.looseObject({ effort: z.string().nullish(), format: formatSchema }).nullish(),
  output_format: formatSchema,
};

/**
 * The form that a body demands. `isStrict`: where the body does not say whether the answer must fit.
 *
 * @throws MillraceError `invalid_request` for a schema that is not there.
 */
export function formatIn(
  body: { readonly [Name in keyof typeof formatMembers]?: z.infer<(typeof formatMembers)[Name]> },
  isStrict: boolean,
): ResponseFormat {
  const { response_format: ofChat, text, output_config: config, output_format: older } = body;
  const asked = text?.format ?? ofChat ?? config?.format ?? older;
  if (!asked) return { type: "text" };
  if (asked.type !== "json_schema") return { type: asked.type };
  const { name, schema, strict } = asked;
  if (!name && !schema) throw refuse(ofChat === asked ? "response_format.json_schema" : "schema", "It is missing.");
  return { type: "json_schema", name: name ?? "answer", schema: schema ?? {}, strict: strict ?? isStrict };
}
