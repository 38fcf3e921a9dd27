import { describe, expect, it } from "vitest";
import { gemini } from "./encode.ts";

const user = { role: "user", parts: [{ text: "hi" }] };
const parse = (body: object, more: object = {}) => gemini.parse({ model: "m", contents: [user], ...body, ...more });
const declared = (parameters: object) => ({
  functionDeclarations: [{ name: "f", description: "does", ...parameters }],
});

describe("a Gemini request", () => {
  it("reads each form of its instruction", () => {
    const said = [{ role: "system", parts: [{ type: "text", text: "Be short." }] }];
    for (const given of [
      "Be short.",
      { parts: [{ text: "Be short." }], role: "user" },
      { parts: { text: "Be short." } },
    ]) {
      expect(parse({ systemInstruction: given }).request.messages.slice(0, 1)).toEqual(said);
      expect(parse({ system_instruction: given }).request.messages.slice(0, 1)).toEqual(said);
    }
  });

  it("reads schemas in Google's form and in JSON Schema's", () => {
    const google = {
      type: "OBJECT",
      properties: {
        type: { type: "STRING", nullable: true },
        n: { type: "ARRAY", minItems: "1", items: { type: "INTEGER" } },
      },
      propertyOrdering: ["type", "n"],
      required: ["type"],
    };
    const plain = {
      type: "object",
      properties: { type: { type: ["string", "null"] }, n: { type: "array", minItems: 1, items: { type: "integer" } } },
      required: ["type"],
    };
    for (const parameters of [{ parameters: google }, { parametersJsonSchema: google }, { parameters: plain }])
      expect(parse({ tools: [declared(parameters)] }).request.tools).toEqual([
        { name: "f", description: "does", kind: "function", parameters: plain },
      ]);
    const { responseFormat } = parse({ generationConfig: { responseSchema: google } }).request;
    expect(responseFormat).toEqual({ type: "json_schema", name: "answer", schema: plain, strict: true });
    const json = parse({ generation_config: { response_mime_type: "application/json" } }).request.responseFormat;
    expect(json).toEqual({ type: "json_object" });
  });

  it.each([
    [undefined, { type: "auto" }, ["f", "g"]],
    [{ mode: "VALIDATED" }, { type: "auto" }, ["f", "g"]],
    [{ mode: "NONE" }, { type: "none" }, ["f", "g"]],
    [{ mode: "ANY" }, { type: "required" }, ["f", "g"]],
    [{ mode: "ANY", allowedFunctionNames: ["g"] }, { type: "named", name: "g" }, ["f", "g"]],
    [{ mode: "ANY", allowed_function_names: ["g", "f"] }, { type: "required" }, ["f", "g"]],
  ])("reads the calling mode %j", (functionCallingConfig, toolChoice, names) => {
    const tools = [{ functionDeclarations: [{ name: "f" }, { name: "g" }] }];
    const { request } = parse({ tools, toolConfig: { functionCallingConfig } });
    expect(request.toolChoice).toEqual(toolChoice);
    expect(request.tools.map(({ name }) => name)).toEqual(names);
  });

  it("refuses a function that was not declared, by name", () => {
    const toolConfig = { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["h"] } };
    expect(() => parse({ tools: [declared({})], toolConfig })).toThrow(
      /allowedFunctionNames: No function is named `h`/,
    );
  });

  it("pairs calls and results by their ids, and without ids by name and order", () => {
    const call = (id: string | undefined, name: string) => ({ functionCall: { id, name, args: { a: 1 } } });
    const result = (id: string | undefined, name: string, response: object) => ({
      role: "user",
      parts: [{ functionResponse: { id, name, response } }],
    });
    const contents = (x: string | undefined, y: string | undefined) => [
      user,
      { role: "model", parts: [{ text: "I look.", thoughtSignature: "c2ln" }, call(x, "f"), call(y, "f")] },
      result(x, "f", { name: "f", content: "one" }),
      result(y, "f", { error: "two" }),
    ];
    for (const ids of [
      ["x", "y"],
      [undefined, undefined],
    ] as const) {
      const [, asked, one, two] = parse({}, { contents: contents(ids[0], ids[1]) }).request.messages;
      const [x, y] = asked?.role === "assistant" ? asked.toolCalls.map(({ callId }) => callId) : [];
      expect(x).not.toBe(y);
      expect(one).toEqual({
        role: "tool",
        callId: x,
        name: "f",
        parts: [{ type: "text", text: "one" }],
        isError: false,
      });
      expect(two).toEqual({
        role: "tool",
        callId: y,
        name: "f",
        parts: [{ type: "text", text: "two" }],
        isError: true,
      });
    }
  });

  it("takes the pieces of a streamed answer for one message, without its thoughts", () => {
    const piece = (part: object) => ({ role: "model", parts: [part] });
    const contents = [user, piece({ text: "Hm.", thought: true }), piece({ text: "Hel" }), piece({ text: "lo" }), user];
    expect(parse({}, { contents }).request.messages.slice(1, 2)).toEqual([
      { role: "assistant", parts: [{ type: "text", text: "Hello" }], toolCalls: [] },
    ]);
  });

  it("reads pictures and texts, and notes other files", () => {
    const parts = [
      { inlineData: { mimeType: "image/jpg", data: "iVBORw0KGgo=" } },
      { inline_data: { mime_type: "text/plain", data: btoa("a text") } },
      {
        fileData: { mimeType: "application/pdf", fileUri: "https://generativelanguage.googleapis.com/v1beta/files/x" },
      },
      { executableCode: { code: "1" } },
      { inlineData: { data: 5 } },
      { fileData: { fileUri: null } },
    ];
    const { request, leftOut } = parse({}, { contents: [{ parts }] });
    expect(request.messages[0]?.parts).toEqual([
      { type: "image", mimeType: "image/jpeg", base64: "iVBORw0KGgo=" },
      { type: "text", text: "a text" },
      ...["a PDF", "a file", "a file"].map((what) => ({
        type: "text",
        text: expect.stringContaining(`${what} that this gateway cannot read`) as string,
      })),
    ]);
    expect(leftOut).toEqual(["fileData", "executableCode", "inlineData"]);
  });

  it.each([
    [{ thinkingBudget: 0 }, "none"],
    [{ thinkingBudget: -1 }, undefined],
    [{ thinkingBudget: 8_000 }, "medium"],
    [{ thinkingLevel: "HIGH" }, "high"],
    [{ thinkingLevel: "MINIMAL" }, "minimal"],
    [{ thinkingLevel: "LATER" }, undefined],
  ])("reads %j as the effort %s", (thinkingConfig, effort) => {
    expect(parse({ generationConfig: { thinkingConfig } }).request.reasoningEffort).toBe(effort);
  });

  it("leaves out Google's own tools, and tells the model where it has no other", () => {
    const parsed = parse({ tools: [{ googleSearch: {} }, { code_execution: {} }] });
    expect(parsed.ignoredTools).toEqual(["googleSearch", "codeExecution"]);
    expect(JSON.stringify(parsed.request.messages)).toContain("not available here");
    expect(JSON.stringify(parse({ tools: [{ googleSearch: {} }, declared({})] }).request.messages)).not.toContain(
      "not avail",
    );
  });

  it("tells the model the values of an enum, which are no JSON", () => {
    const responseSchema = { type: "STRING", enum: ["yes", "no"] };
    const { request } = parse({ generationConfig: { responseMimeType: "text/x.enum", responseSchema } });
    expect(request.responseFormat).toEqual({ type: "text" });
    expect(JSON.stringify(request.messages[0])).toContain("\\nyes\\nno");
  });

  it.each([
    ["cachedContent", { cachedContent: "cachedContents/x" }],
    ["generationConfig.candidateCount", { generationConfig: { candidateCount: 2 } }],
    ["generationConfig.responseModalities", { generationConfig: { responseModalities: ["TEXT", "IMAGE"] } }],
    ["generationConfig.responseMimeType", { generationConfig: { responseMimeType: "application/xml" } }],
    ["generationConfig.maxOutputTokens", { generationConfig: { maxOutputTokens: "many" } }],
    ["contents[0].parts[0].text", { contents: [{ parts: [{ text: [] }] }] }],
  ])("refuses %s by its path", (param, body) => {
    expect(() => parse(body)).toThrow(expect.objectContaining({ code: "invalid_request", param }) as Error);
  });

  it("ignores what the IDE takes no hint of", () => {
    const generationConfig = { temperature: 0.1, topK: 64, topP: 0.9, seed: 1, candidateCount: 1, stopSequences: [] };
    const { request } = parse({ generationConfig, safetySettings: [], cachedContent: "" });
    expect(request).toEqual(parse({}).request);
  });
});
