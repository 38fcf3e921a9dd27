/** Conventions that models know from other plugins, beside the one that the prompt teaches. */
export const callForms = ["taught", "action", "fenced-action", "action-between", "tool-calls"] as const;
type CallForm = (typeof callForms)[number];

interface WrittenCall {
  readonly name: string;
  readonly arguments: unknown;
}

/** An answer as a JSON object of another convention: the texts before its calls stay sentences. */
export function inForm(
  form: Exclude<CallForm, "taught">,
  texts: readonly string[],
  calls: readonly WrittenCall[],
): string {
  if (calls.length === 0) {
    const text = texts.join("\n\n");
    return form === "tool-calls" ? text : framed(form, { action: "final", content: text });
  }
  const listed = { tool_calls: calls };
  const block = framed(form, form === "tool-calls" ? listed : { action: "tool_call", ...listed });
  const around = form === "action-between" ? ["I will look first.", block, "Then I will tell you."] : [block];
  return [...texts, around.join("\n")].join("\n\n");
}

function framed(form: CallForm, value: unknown): string {
  const json = JSON.stringify(value);
  return form === "fenced-action" ? `\`\`\`json\n${json}\n\`\`\`` : json;
}
