/** The plan data that the app left on disk: nothing, or rows of its last start, of one account or of several. */
export const savedPlanForms = ["fresh", "none", "old", "several"] as const;
export type SavedPlanForm = (typeof savedPlanForms)[number];
