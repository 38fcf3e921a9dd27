import { isObject, type JsonObject } from "../../../base/json.ts";
import { refuse } from "../parse-body.ts";

const isFilled = (value: unknown) => value !== undefined && value !== null && value !== "";
const asksForMedia = (value: unknown) => Array.isArray(value) && value.some((each) => !/^text$/i.test(String(each)));

/** Members of a body and of its `generationConfig` that would make the answer wrong, and the values that do; all but none by default. */
const refused: readonly {
  readonly name: string;
  readonly where?: (value: unknown) => boolean;
  readonly why: string;
}[] = [
  {
    name: "cachedContent",
    why: "Google keeps that content, so the prompt would not be whole. Send it in `contents`.",
  },
  {
    name: "generationConfig.candidateCount",
    where: (value) => Number(value) > 1,
    why: "A prompt has one answer here. Send the request again for another one.",
  },
  {
    name: "generationConfig.responseModalities",
    where: asksForMedia,
    why: "The models here only write text.",
  },
  {
    name: "generationConfig.responseMimeType",
    where: (value) => !/^(?:text\/plain|application\/json|text\/x\.enum)$/.test(String(value)),
    why: "An answer is `text/plain`, `application/json` or `text/x.enum` here.",
  },
];

/** @throws MillraceError `invalid_request` for a member that would make the answer wrong. */
export function refuseMembers(body: JsonObject): void {
  for (const { name, where = isFilled, why } of refused) {
    const value = name.split(".").reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), body);
    if (isFilled(value) && where(value)) throw refuse(name, why);
  }
}

/** Google's servers read `system_instruction` as `systemInstruction`, and so on: an object whose own names are in the second form. */
export function camelCased(given: unknown): unknown {
  if (!isObject(given)) return given;
  const names = Object.entries(given).map(([name, value]) => [
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(names);
}
