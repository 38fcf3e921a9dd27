/** What the app left on disk about its plan: nothing, or rows of its last start, of one account or of several. */
export const savedPlanForms = ["fresh", "none", "old", "several"] as const;
export type SavedPlanForm = (typeof savedPlanForms)[number];
