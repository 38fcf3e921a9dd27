import type { ModelUid } from "../base/ids.ts";
import type { Prompt } from "./backend.ts";

/** A short prompt for a model, as a catalogue and a layout would give it. */
export function promptFor(modelUid: string): Prompt {
  return {
    modelUid: modelUid as ModelUid,
    modelNumber: undefined,
    instructions: "Be brief.",
    text: "Say hello.",
    messages: [{ role: "user", text: "Say hello." }],
    images: [],
    maxOutputTokens: undefined,
    continues: undefined,
    form: "text",
  };
}
