import { createHash } from "node:crypto";
import { MillraceError } from "../../../base/errors.ts";
import type { Prompt } from "../../backend.ts";
import { framed } from "../known/devin.ts";
import type { Session } from "./session.ts";

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
 * The content blocks of a `session/prompt`: one of ours that is always the same, the instructions, the images, then the conversation.
 * Instructions that this session has already are left out. Throws `invalid_request` for images that the agent does not take.
 */
export function promptBlocks(session: Session, prompt: Prompt): readonly object[] {
  const { instructions, text, continues, images } = prompt;
  const { abilities, style } = session.process;
  if (images.length > 0 && !abilities.takesImages)
    throw new MillraceError("invalid_request", "This agent does not accept images.", {
      hint: "Leave the images out, or ask another model.",
    });
  const goesOn = continues !== undefined;
  const rules = goesOn && session.rules === rulesOf(prompt) ? "" : instructions.trim();
  const before = style === "ask" ? rules : framed(rules, goesOn);
  const pictures = images.map(({ mimeType, base64 }) => ({ type: "image", mimeType, data: base64 }));
  return [textBlock(opening), ...(before === "" ? [] : [textBlock(before)]), ...pictures, textBlock(text)];
}

function textBlock(text: string): object {
  return { type: "text", text };
}
