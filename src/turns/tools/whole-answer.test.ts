import { describe, expect, it } from "vitest";
import type { ToolChoice } from "../../log/request.ts";
import { bash, fakeRequest, readFile } from "../prompt/request.fake.ts";
import { planAnswer } from "./answer-plan.ts";
import { PlannedAnswer } from "./planned-answer.ts";

const list = { ...readFile, name: "list", parameters: { type: "array", items: { type: "string" } } };

function read(text: string, toolChoice: ToolChoice, tools = [bash, list]) {
  const plan = planAnswer(fakeRequest({ tools, toolChoice }), "t");
  if (plan === undefined) throw new Error("the request offers tools");
  const answer = new PlannedAnswer(plan, { mayAskAgain: true });
  answer.push({ type: "text", delta: text });
  answer.push({ type: "finished", reason: { unified: "stop", raw: undefined }, text });
  const { told, result } = answer;
  return { calls: told.calls.map((call) => [call.name, call.argumentsDelta]), text: told.text, asks: result?.reask };
}

const named = (name: string): ToolChoice => ({ type: "named", name });
const command = '{"command":"ls"}';

describe("an answer that is exactly the arguments of a tool", () => {
  it.each<[string, string, ToolChoice, (typeof bash)[], string]>([
    ["a named tool", command, named("bash"), [bash, list], command],
    ["the only tool, which is required", command, { type: "required" }, [bash], command],
    ["in a fence", `\n\`\`\`json\n${command}\n\`\`\`\n`, named("bash"), [bash, list], command],
    ["a tool whose schema is no object", '["a","b"]', named("list"), [bash, list], '["a","b"]'],
    ["beside its name", `{"name":"bash","arguments":${command}}`, named("bash"), [bash, list], command],
  ])("is its call where that is demanded: %s", (_, text, choice, tools, expected) => {
    const { calls, text: shown, asks } = read(text, choice, tools);
    expect(calls.map(([, given]) => given)).toEqual([expected]);
    expect([shown, asks]).toEqual(["", undefined]);
  });

  it.each<[string, string, ToolChoice, (typeof bash)[]]>([
    ["no tool is demanded", command, { type: "auto" }, [bash]],
    ["one of several is demanded", command, { type: "required" }, [bash, list]],
    ["its arguments do not fit", '{"path":"a"}', named("bash"), [bash]],
    ["a word stands before it", `So: ${command}`, named("bash"), [bash]],
  ])("is text where %s", (_, text, choice, tools) => {
    const { calls, text: shown } = read(text, choice, tools);
    expect([calls, shown]).toEqual([[], text]);
  });

  it("is asked for in the taught form where the answer is something else", () => {
    expect(read("It is late.", named("bash")).asks).toMatch(/has to call bash[^]*<tool_call-\w{7} name="bash">/);
  });
});

describe("a call of another form that is not the whole answer", () => {
  const call = `{"name":"bash","arguments":${command}}`;

  it.each(["I look. ", "I look.\n\n", "The file says:\n> "])("is text after %j, and is asked about", (lead) => {
    const { calls, text, asks } = read(lead + call, { type: "auto" });
    expect([calls, text]).toEqual([[], lead + call]);
    expect(asks).toMatch(/looks like a call of bash[^]*<tool_call-\w{7} name="bash">[^]*word none/);
  });

  it("is text that nobody is asked about where text follows it", () => {
    expect(read(`${call}\n\nThis is how it looks.`, { type: "auto" })).toMatchObject({ calls: [], asks: undefined });
  });
});
