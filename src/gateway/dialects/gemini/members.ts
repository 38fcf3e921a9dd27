import { isObject, type JsonObject } from "../../../base/json.ts";
import { refuse } from "../parse-body.ts";

/** What becomes of a member of a body: it is used, ignored, or refused (some values of it are), with the reason. */
interface Member {
  readonly name: string;
  readonly use: "used" | "ignored" | "refused";
  /** The values that are refused; all but none by default. */
  readonly where?: (value: unknown) => boolean;
  readonly why?: string;
}

const isFilled = (value: unknown) => value !== undefined && value !== null && value !== "";
const asksForMedia = (value: unknown) => Array.isArray(value) && value.some((each) => !/^text$/i.test(String(each)));

/** The members of a body and of its `generationConfig`. Those that are not here are ignored as well. */
const geminiMembers: readonly Member[] = [
  { name: "contents", use: "used" },
  { name: "systemInstruction", use: "used" },
  { name: "tools", use: "used" },
  { name: "toolConfig", use: "used" },
  { name: "generationConfig.maxOutputTokens", use: "used" },
  { name: "generationConfig.stopSequences", use: "used" },
  { name: "generationConfig.responseMimeType", use: "used" },
  { name: "generationConfig.responseSchema", use: "used" },
  { name: "generationConfig.responseJsonSchema", use: "used" },
  { name: "generationConfig.thinkingConfig", use: "used" },
  { name: "generationConfig.temperature", use: "ignored" },
  { name: "generationConfig.topP", use: "ignored" },
  { name: "generationConfig.topK", use: "ignored" },
  { name: "generationConfig.seed", use: "ignored" },
  { name: "safetySettings", use: "ignored" },
  { name: "labels", use: "ignored" },
  {
    name: "cachedContent",
    use: "refused",
    why: "Google keeps that content, so the prompt would not be whole. Send it in `contents`.",
  },
  {
    name: "generationConfig.candidateCount",
    use: "refused",
    where: (value) => Number(value) > 1,
    why: "A prompt has one answer here. Send the request again for another one.",
  },
  {
    name: "generationConfig.responseModalities",
    use: "refused",
    where: asksForMedia,
    why: "The models here only write text.",
  },
  {
    name: "generationConfig.responseMimeType",
    use: "refused",
    where: (value) => !/^(?:text\/plain|application\/json|text\/x\.enum)$/.test(String(value)),
    why: "An answer is `text/plain`, `application/json` or `text/x.enum` here.",
  },
];

/** @throws MillraceError `invalid_request` for a member that would make the answer wrong. */
export function refuseMembers(body: JsonObject): void {
  for (const { name, use, where = isFilled, why = "" } of geminiMembers) {
    if (use !== "refused") continue;
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
