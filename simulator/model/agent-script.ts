import type { Offer, OfferedTool } from "./offered.ts";

/** How a call can be spoilt: each is something that real models write. */
export const spoilings = ["truncated", "trailing-comma", "no-arguments", "wrong-type"] as const;
export type SpoilKind = (typeof spoilings)[number];

/** One thing that the agent does in one of its answers. */
export type Action =
  | { readonly kind: "say"; readonly text: string }
  | { readonly kind: "think"; readonly text: string }
  | {
      readonly kind: "call";
      /** A tool's name, `*` for the most suitable one; a number picks the nth offered, from 1. */
      readonly tool: string;
      /** Text of the arguments; made to fit the schema when undefined. */
      readonly body: string | undefined;
      readonly spoiling: SpoilKind | undefined;
      /** Spoilt again when it is asked again. */
      readonly stubborn: boolean;
    };

/** The agent's actions, answer by answer. */
export type AgentScript = readonly (readonly Action[])[];

const call = (tool: string, body?: string, spoiling?: SpoilKind, stubborn = false): Action => ({
  kind: "call",
  tool,
  body,
  spoiling,
  stubborn,
});
const done: Action = { kind: "say", text: "All done. The tools said: {results}" };

/** Scripts by name, for `[[sim: agent=loop]]`. Any spoiling is one too: a spoilt call, a good one when asked again, the end. */
const named: Readonly<Record<string, AgentScript>> = {
  loop: [[{ kind: "think", text: "Two things to look at, then one more." }, call("*"), call("*")], [call("*")], [done]],
  once: [[{ kind: "say", text: "Let me look." }, call("*")], [done]],
  five: [...Array.from({ length: 5 }, () => [call("*")]), [done]],
  refuse: [[{ kind: "say", text: "I'm sorry, but I can't help with that." }]],
};

const inline = /\[\[agent\b([\s\S]*?)\]\]/;

/**
 * The script in a text: `[[agent` lines `]]`, answers apart by `---`, each line one of `call <tool> [arguments]`,
 * `spoil <how> <tool> [arguments]`, `spoil-always …`, `say <text>`, `think <text>`.
 */
export function inlineScript(text: string): AgentScript | undefined {
  const body = inline.exec(text)?.[1];
  if (body === undefined) return undefined;
  return body.split(/^\s*---\s*$/m).map((answer) =>
    answer
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "")
      .map(readAction),
  );
}

function readAction(line: string): Action {
  const [, verb = "", rest = ""] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
  const text = rest.replaceAll("\\n", "\n");
  if (verb === "say") return { kind: "say", text };
  if (verb === "think") return { kind: "think", text };
  if (verb === "call") {
    const [, tool = "*", body = ""] = /^(\S+)\s*(.*)$/.exec(rest) ?? [];
    return call(tool, body === "" ? undefined : body.replaceAll("\\n", "\n"));
  }
  if (verb === "spoil" || verb === "spoil-always") {
    const [, how = "", tool = "*", body = ""] = /^(\S+)\s*(\S*)\s*(.*)$/.exec(rest) ?? [];
    const spoiling = spoilings.find((one) => one === how);
    if (spoiling !== undefined)
      return call(tool || "*", body === "" ? undefined : body, spoiling, verb === "spoil-always");
  }
  return { kind: "say", text: `(the agent's script is wrong: ${JSON.stringify(line)})` };
}

/** A script by its name; undefined if there is none. */
export function namedScript(name: string): AgentScript | undefined {
  const known = named[name];
  if (known !== undefined) return known;
  const stubborn = name.startsWith("always-");
  const spoiling = spoilings.find((one) => one === (stubborn ? name.slice("always-".length) : name));
  return spoiling === undefined ? undefined : [[call("*", undefined, spoiling, stubborn)], [done]];
}

/** Two calls in one answer become two answers where the offer allows one call only. */
export function fitted(script: AgentScript, offer: Offer): AgentScript {
  if (offer.parallel) return script;
  return script.flatMap((answer) => {
    const calls = answer.filter((action) => action.kind === "call");
    if (calls.length < 2) return [answer];
    const others = answer.filter((action) => action.kind !== "call");
    return calls.map((one, i) => (i === 0 ? [...others, one] : [one]));
  });
}

/** The tool of an action: by name, by place, or the one that can run a harmless command. */
export function pickTool(wanted: string, offer: Offer): OfferedTool | undefined {
  const { tools } = offer;
  if (/^\d+$/.test(wanted)) return tools[Number(wanted) - 1];
  if (wanted !== "*")
    return tools.find((tool) => tool.name === wanted) ?? tools.find((tool) => sameName(tool.name, wanted));
  if (typeof offer.mustCall === "string") return tools.find((tool) => tool.name === offer.mustCall);
  return tools.find((tool) => /^(bash|shell|exec|exec_command|run_command|terminal)$/i.test(tool.name)) ?? tools[0];
}

function sameName(a: string, b: string): boolean {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  return plain(a) === plain(b);
}
