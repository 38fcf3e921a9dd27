import type { ImageData, TextOrScopeItem } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import { ConversationalPlannerMode } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import type {
  CascadeConversationalPlannerConfig,
  CascadePlannerConfig,
} from "../../src/proto/windsurf/exa/cortex_pb.ts";

/** The text of a message: its text items in order. */
export function textOfItems(items: readonly TextOrScopeItem[]): string {
  return items.map(({ chunk }) => (chunk.case === "text" ? chunk.value : "")).join("");
}

/**
 * The client's own instructions as the planner renders them. The tool section is left out in NO_TOOL mode; the additional section is
 * rendered in every mode. Source: docs/dev/wire/cascade.md, "Planner configuration".
 */
export function instructionsOf(planner: CascadePlannerConfig): string {
  const sections: string[] = [];
  if (planner.plannerTypeConfig.case === "conversational") {
    sections.push(...conversationalSections(planner.plannerTypeConfig.value));
  }
  sections.push(...(planner.promptOverride?.additionalInstructions ?? []));
  return sections.filter((section) => section !== "").join("\n\n");
}

function conversationalSections(conversational: CascadeConversationalPlannerConfig): string[] {
  const tools =
    conversational.plannerMode === ConversationalPlannerMode.NO_TOOL
      ? undefined
      : conversational.toolCallingSection?.content;
  return [
    conversational.additionalInstructionsSection?.content,
    conversational.communicationSection?.content,
    tools,
    conversational.codeChangesSection?.content,
    conversational.testSection?.content,
  ].map((section) => section ?? "");
}

/**
 * The model selector of a planner: a string UID, or the enum number of the old selectors; nothing set is undefined.
 * Field 1 alone does not count in 2.x. Source: docs/dev/wire/cascade.md, "Planner configuration".
 */
export function selectorOf(
  planner: CascadePlannerConfig,
  oldSelectorEnough: boolean,
): { readonly uid: string; readonly number: number } | undefined {
  const uid = planner.requestedModelUid || planner.planModelUid;
  if (uid !== "") return { uid, number: 0 };
  const choice = planner.requestedModelDeprecated?.choice;
  if (choice?.case === "modelUid" && choice.value !== "") return { uid: choice.value, number: 0 };
  if (choice?.case === "model" && choice.value !== 0) return { uid: "", number: choice.value };
  if (choice?.case === "alias" && choice.value !== 0) return { uid: "swe-1-6", number: 0 };
  if (oldSelectorEnough && planner.planModelDeprecated !== 0) return { uid: "", number: planner.planModelDeprecated };
  return undefined;
}

export function plannerModeOf(planner: CascadePlannerConfig): number {
  return planner.plannerTypeConfig.case === "conversational" ? planner.plannerTypeConfig.value.plannerMode : 0;
}

export function imagesOf(images: readonly ImageData[]): { mimeType: string; base64: string }[] {
  return images.map((image) => ({ mimeType: image.mimeType || "image/png", base64: image.base64Data }));
}
