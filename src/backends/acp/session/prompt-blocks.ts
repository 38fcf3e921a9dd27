import { createHash } from "node:crypto";
import type { Prompt } from "../../backend.ts";
import type { AcpStyle } from "../known/agent-spec.ts";
import { framed } from "../known/devin.ts";

/** Names the instructions, without the mark of their turn: two turns with the same rules differ in nothing else. */
export function rulesOf({ instructions, mark }: Prompt): string {
  const rules = mark === undefined ? instructions : instructions.replaceAll(`-${mark}`, "");
  return createHash("sha256").update(rules).digest("base64");
}

/**
 * Agents look for commands of theirs where a prompt begins. So a block of ours is the first one of every prompt, and no text of a client
 * ever is. Source: docs/dev/wire/acp.md, "Commands and mentions".
 */
export const opening = "This is a request of a program. It is in the blocks after this one.";

/**
 * The texts of a `session/prompt`, one block each: one of ours that is always the same, the instructions, then the conversation. `hasRules`:
 * this session already has the same instructions, so they are left out.
 */
export function promptBlocks(
  style: AcpStyle,
  { instructions, text, continues }: Prompt,
  hasRules: boolean,
): readonly string[] {
  const rules = hasRules ? "" : instructions.trim();
  const before = style === "ask" ? rules : framed(rules, continues !== undefined);
  return before === "" ? [opening, text] : [opening, before, text];
}
