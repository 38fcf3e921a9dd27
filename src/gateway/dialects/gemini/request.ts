import { z } from "zod";
import { isObject, type JsonObject, objectOf, writeJson } from "../../../base/json.ts";
import type { Message, Part, ResponseFormat, ToolCall, TurnRequest } from "../../../log/request.ts";
import { readCall, readResult } from "../calls.ts";
import { content as anyContent, parsePart, textOf } from "../content.ts";
import type { ParsedTurn } from "../dialect.ts";
import { fileParts } from "../files.ts";
import { History, type Speaker } from "../history.ts";
import {
  effortForBudget,
  effortNamed,
  nameAModel,
  noteOfHosted,
  outputLimit,
  parseBody,
  resultContent,
  stopSequences,
  textParts,
} from "../parse-body.ts";
import { camelCased, refuseMembers } from "./members.ts";
import { jsonSchemaOf, parseToolConfig, parseTools, toolConfigSchema, toolsSchema } from "./tools.ts";

const schema = z.record(z.string(), z.unknown()).nullish();
const generationConfig = z.preprocess(
  camelCased,
  z.looseObject({
    maxOutputTokens: z.number().nullish(),
    stopSequences: z.array(z.string()).nullish(),
    responseMimeType: z.string().nullish(),
    responseSchema: schema,
    responseJsonSchema: schema,
    thinkingConfig: z
      .preprocess(
        camelCased,
        z.looseObject({
          includeThoughts: z.boolean().nullish(),
          thinkingBudget: z.number().nullish(),
          thinkingLevel: z.string().nullish(),
        }),
      )
      .nullish(),
  }),
);
type Config = z.infer<typeof generationConfig>;

/** The members of a body that are looked at, and their types. The model is in the path. */
export const geminiBody = z.preprocess(
  camelCased,
  z.looseObject({
    contents: anyContent,
    systemInstruction: anyContent.nullish(),
    tools: toolsSchema,
    toolConfig: toolConfigSchema,
    generationConfig: generationConfig.nullish(),
  }),
);

/** What the route adds to the body: the model of its path, and whether its method streams. */
const ofRoute = z.looseObject({
  model: z.string().min(1, nameAModel("/v1beta/models")),
  stream: z.boolean().nullish(),
});

/** The reader's wishes for the answer. */
export interface GeminiWire {
  readonly includeThoughts: boolean;
}

/**
 * A request for one answer. Members that are not named here are ignored, and some are refused (`members.ts`).
 *
 * @throws MillraceError `invalid_request` with the path of the field. Source: docs/dev/wire/clients.md, "Gemini".
 */
export function parseGeminiRequest(body: unknown): ParsedTurn & { readonly wire: GeminiWire } {
  const { model, stream } = parseBody(ofRoute, body);
  const parsed = parseBody(geminiBody, body);
  refuseMembers(parsed);
  const config = parsed.generationConfig ?? {};
  const history = new History();
  const offered = parseTools(parsed.tools);
  const { choice, tools } = parseToolConfig(parsed.toolConfig, offered.tools);
  const effort = effortOf(config);
  const system = history.readOther(() => systemOf(parsed.systemInstruction, history));
  const request: TurnRequest = {
    model: model.replace(/^models\//, ""),
    messages: [
      ...noteOfHosted(offered.ignored, offered.tools.length === 0),
      ...noteOfEnum(config),
      ...system,
      ...readContents(parsed.contents, history),
    ],
    tools,
    toolChoice: choice,
    parallelToolCalls: true,
    responseFormat: formatOf(config),
    stop: stopSequences(config.stopSequences, "generationConfig.stopSequences"),
    ...outputLimit(config.maxOutputTokens),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
  const wire = { includeThoughts: config.thinkingConfig?.includeThoughts === true };
  return { request, stream: stream ?? false, wire, ignoredTools: offered.ignored, leftOut: history.leftOut };
}

function effortOf({ thinkingConfig }: Config) {
  const { thinkingBudget: budget, thinkingLevel: level } = thinkingConfig ?? {};
  if (budget === 0) return "none";
  return effortNamed(level) ?? (typeof budget === "number" && budget > 0 ? effortForBudget(budget) : undefined);
}

const enumType = "text/x.enum";

function formatOf({ responseMimeType: type, responseSchema, responseJsonSchema: plain }: Config): ResponseFormat {
  const shape = plain ?? responseSchema;
  if (shape && type !== enumType)
    return { type: "json_schema", name: "answer", schema: jsonSchemaOf(shape), strict: true };
  return { type: type === "application/json" ? "json_object" : "text" };
}

/** A bare value is demanded, no JSON: the model is told which ones there are. */
function noteOfEnum({ responseMimeType: type, responseSchema, responseJsonSchema: plain }: Config): Message[] {
  const values = (plain ?? responseSchema)?.["enum"];
  if (type !== enumType || !Array.isArray(values)) return [];
  const text = ["Answer with one of these values alone, as it stands here:", ...values].join("\n");
  return [{ role: "system", parts: textParts([text]) }];
}

function systemOf(given: unknown, history: History): Message[] {
  const contents = Array.isArray(given) ? given : [given ?? []].flat();
  const parts = contents.flatMap((each) => partsIn(each, "systemInstruction", history).parts);
  return parts.length === 0 ? [] : [{ role: "system", parts }];
}

const roles: Readonly<Record<string, "user" | "assistant" | "system">> = {
  user: "user",
  function: "user",
  model: "assistant",
  assistant: "assistant",
  system: "system",
};

/** Contents as messages. Programs keep each piece of a stream as a content of its own: those of the model in a row are one answer. */
function readContents(given: z.infer<typeof geminiBody>["contents"], history: History): Message[] {
  const contents = Array.isArray(given) ? given : [given];
  const messages = history.readMessages(
    contents.map((each) => {
      const said = typeof each === "string" ? { parts: each } : each;
      return isObject(said) ? { ...said, role: said["role"] || "user" } : said;
    }),
    speakerOf,
    (content, path): Message[] => {
      const role = roles[content.role];
      if (role === undefined) {
        history.leaveOut(`content of ${content.role}`);
        return [];
      }
      const { parts, calls, results } = partsIn(content, path, history);
      if (role !== "assistant")
        return parts.length === 0 && results.length > 0 ? results : [...results, { role, parts }];
      return [{ role, parts, toolCalls: calls }];
    },
    "contents",
  );
  return messages.reduce<Message[]>((joined, message) => {
    const last = joined.at(-1);
    if (last?.role !== "assistant" || message.role !== "assistant") return [...joined, message];
    const parts = joinTexts([...last.parts, ...message.parts]);
    return [...joined.slice(0, -1), { ...last, parts, toolCalls: [...last.toolCalls, ...message.toolCalls] }];
  }, []);
}

function joinTexts(parts: readonly Part[]): Part[] {
  const isText = parts.every((part) => part.type === "text");
  return isText ? textParts([parts.map(({ text }) => text).join("")]) : [...parts];
}

function speakerOf({ role, parts }: JsonObject): Speaker {
  if (role === "model" || role === "assistant") return "assistant";
  const isResult = (part: unknown) => isObject(part) && ("functionResponse" in part || "function_response" in part);
  return Array.isArray(parts) && parts.some(isResult) ? "tool" : role === "system" ? "other" : "user";
}

interface ReadParts {
  readonly parts: Part[];
  readonly calls: ToolCall[];
  readonly results: Message[];
}

/**
 * The parts of a content, by kind; a part alone counts as a content of it. Thoughts are not read again: only Google can tell whether they are
 * its own.
 */
function partsIn(content: unknown, path: string, history: History): ReadParts {
  const read: ReadParts = { parts: [], calls: [], results: [] };
  const { parts, content: other = [], text } = objectOf(content); // `content`: other APIs' word
  const given = typeof content === "string" ? content : (parts ?? (text === undefined ? other : { text }));
  for (const [i, each] of (Array.isArray(given) ? given : [given]).entries()) {
    const part = typeof each === "string" ? { text: each } : camelCased(each);
    const at = `${path}.parts[${i}]`;
    if (Array.isArray(each) || (isObject(each) && typeof each["type"] === "string"))
      read.parts.push(...parsePart(each, at, history)); // of another API
    else if (!isObject(part)) history.leaveOut("part");
    else if (part["thought"] !== true) readPart(part, at, history, read);
  }
  return read;
}

function readPart(part: JsonObject, path: string, history: History, read: ReadParts): void {
  const { inlineData, fileData, functionCall: called, functionResponse: result } = part;
  if (called) {
    const { id, name, args: input } = objectOf(called);
    read.calls.push(...readCall({ id, name, input }, history));
  } else if (result) read.results.push(resultOf(result, `${path}.functionResponse`, history));
  else if (inlineData) {
    const { displayName: name, ...said } = objectOf(camelCased(inlineData));
    read.parts.push(...fileParts(history, "inlineData", { ...said, name }));
  } else if (fileData) {
    const { fileUri: elsewhere, mimeType } = objectOf(camelCased(fileData));
    read.parts.push(...fileParts(history, "fileData", { elsewhere, mimeType }));
  } else if ("text" in part) read.parts.push(...history.read("text", () => textParts([textOf(part, path)]), []));
  else history.leaveOut(Object.keys(part).find((name) => name !== "thoughtSignature") ?? "part");
}

/** A result: what the function gave, without the member that clients put it in. `error` as the only member is a failure. */
function resultOf(given: unknown, path: string, history: History): Message {
  const { id, name, response, parts: more } = objectOf(given);
  const members = Object.entries(objectOf(response)).filter(([key, value]) => key !== "name" || value !== name); // the AI SDK's
  const [first, ...others] = members;
  const [member, inside] = first ?? ["", undefined];
  const isOnly = others.length === 0 && /^(?:output|result|content|error)$/.test(member);
  const said = resultContent(isOnly ? inside : response);
  const content = typeof said === "string" ? said : writeJson(said);
  const result = readResult({ id, name, content, isError: isOnly && member === "error" }, path, history);
  return { ...result, parts: [...result.parts, ...partsIn({ parts: more }, path, history).parts] };
}
