import { writeJson } from "../../base/json.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import type { CallProblem } from "./calls.ts";
import { announcedCall, callAtEnd } from "./forms/announced-call.ts";
import { writeCall } from "./grammar.ts";
import type { ShownTool } from "./names.ts";

/** Why an answer cannot be used, for people, and the text that asks the model to answer again. */
export interface Problem {
  readonly text: string;
  readonly again?: string;
}

export const summaryProblem: Problem = {
  text: "a summary of the conversation in a <summary> tag instead of an answer",
  again:
    "Your last answer is a summary, but nobody asked for one, and it was not shown. Go on with the task: write your next output, a tool call or the answer itself, without a <summary> tag.",
};

export const contradiction: Problem = { text: "the IDE's server changed a call that had already been sent" };

export function missingCall(plan: AnswerPlan): Problem {
  const { choice, names } = plan;
  const tools = choice.type === "named" ? names.shown(choice.name) : "a tool";
  return {
    text: "an answer without the call that it had to make",
    again: `Your last answer calls no tool, but it has to call ${tools}. Write the call now, in exactly this form, and nothing else:\n\n${formOf(plan, plan.demanded)}`,
  };
}

export function unusableCalls(plan: AnswerPlan, problems: readonly CallProblem[], accepted: number): Problem {
  const told = problems.map(({ asked, message }) => `${asked}: ${message}`);
  const tool = problems.find((problem) => problem.tool !== undefined)?.tool ?? plan.names.tools[0];
  const schema =
    tool?.tool.kind === "function" ? `\n\nThe schema of ${tool.shownName}: ${writeJson(tool.shownParameters)}` : "";
  const others = accepted > 0 ? " Its other calls were accepted; do not repeat them." : "";
  return {
    text: `a call that cannot be used: ${told.join("; ")}`,
    again: `Your last answer holds a call that cannot be used, and it was not run:\n- ${told.join("\n- ")}\n\nWrite only the corrected call again, in exactly this form.${others}\n\n${formOf(plan, tool)}${schema}`,
  };
}

export function wrongJson(wrong: string): Problem {
  return {
    text: `an answer that is not in the form asked for: ${wrong}`,
    again: `Your last answer cannot be used: ${wrong}. Write the whole answer again, corrected: one strict JSON value in the form asked for, the right parts unchanged and in the same order, and nothing else.`,
  };
}

/** The question about an answer that promises a call, or ends in one of another form, and does not make it. */
export function askForAnnounced(plan: AnswerPlan, answer: string): string | undefined {
  const promised = announcedCall(answer, plan.names);
  if (promised !== undefined)
    return `Your last answer announces a call of ${promised.shownName} without making it, so nothing was run. Write the call now, in exactly this form, and nothing else:\n\n${formOf(plan, promised)}`;
  const shown = callAtEnd(answer, plan.names);
  if (shown === undefined) return undefined;
  const what = shown.tool === undefined ? "a call" : `a call of ${shown.tool.shownName}`;
  return `Your last answer ends in what looks like ${what}. It is text, and nothing was run. If you meant a call, write it now in exactly this form, and nothing else:\n\n${formOf(plan, shown.tool)}\n\nIf you only showed it, answer with the word none.`;
}

function formOf(plan: AnswerPlan, tool: ShownTool | undefined): string {
  const body = tool?.tool.kind === "freeform" ? "its input" : "{ …arguments as JSON… }";
  return writeCall(plan.mark, tool?.shownName ?? plan.names.tools[0]?.shownName ?? "", body);
}
