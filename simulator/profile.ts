/** Which product and build the stand-in plays. Antigravity is metered only. */
export const profileNames = [
  "windsurf-2",
  "windsurf-next",
  "windsurf-1.9544",
  "windsurf-1.8",
  "devin-3",
  "devin-next",
  "devin-cli",
  "antigravity",
] as const;
export type ProfileName = (typeof profileNames)[number];

/** The visible differences between builds. Source: docs/dev/wire/language-server.md, "Builds"; docs/dev/wire/processes.md, "Arguments". */
export interface Profile {
  readonly name: ProfileName;
  /** Antigravity speaks a fork of the schema, over TLS too, and takes no prompts here. Also the name of the extension's folder. */
  readonly family: "windsurf" | "antigravity";
  /** The value of `--ide_name`. */
  readonly ideName: string;
  /** The folder of the unpacked product, and that of user data below `~/.config`, `~/Library/Application Support` or `%APPDATA%`. */
  readonly productFolder: string;
  /** Below the home: conversations, code index, memories. */
  readonly codeiumFolder: string;
  readonly ideVersion: string;
  readonly extensionVersion: string;
  /** Where the CSRF token travels: command line (old) or environment (new). */
  readonly csrfIn: "argument" | "environment";
  /**
   * A build before February 2026: it demands a trusted workspace, and has no family and no dimension of a model, no billing strategy
   * and no abilities of Devin.
   */
  readonly isOld: boolean;
  /** The default behaviour of `RawGetChatMessage`: answer, or refuse in the trailer. Builds that answer get no metadata at their start. */
  readonly rawChat: "answer" | "trailer";
  /** RPCs this build does not have: their paths are unknown to it. */
  readonly missing: readonly string[];
  /** Devin Desktop and its CLI, which come with a `devin` program that speaks ACP. Source: docs/dev/wire/acp.md. */
  readonly devin?: {
    /** Whether an editor runs; without one only the CLI is installed. */
    readonly editor: boolean;
    /** The folder that holds the product on Linux, and the command that opens the editor, which `product.json` names. */
    readonly command: string;
  };
}

/** The RPCs that make up Cascade. */
export const cascadeRpcs: readonly string[] = [
  "InitializeCascadePanelState",
  "StartCascade",
  "SendUserCascadeMessage",
  "GetCascadeTrajectory",
  "GetCascadeTrajectorySteps",
  "GetCascadeTrajectoryGeneratorMetadata",
  "GetCascadeTranscriptForTrajectoryId",
  "CancelCascadeInvocation",
  "ArchiveCascadeTrajectory",
  "DeleteCascadeTrajectory",
  "UpdatePanelStateWithUserStatus",
];

const windsurf = {
  family: "windsurf",
  ideName: "windsurf",
  productFolder: "Windsurf",
  codeiumFolder: ".codeium/windsurf",
  csrfIn: "environment",
  isOld: false,
  rawChat: "trailer",
  missing: ["UpdateWorkspaceTrust"],
} as const;

const next = { ideName: "windsurf-next", codeiumFolder: ".codeium/windsurf-next" } as const;
const oldWindsurf = { ...windsurf, csrfIn: "argument", isOld: true } as const;
const devin = { ...windsurf, productFolder: "Devin", ideVersion: "3.10.48", extensionVersion: "1.50.3" } as const;

/** Every profile by its name. */
export const profiles: Readonly<Record<ProfileName, Profile>> = {
  "windsurf-2": { ...windsurf, name: "windsurf-2", ideVersion: "2.2.17", extensionVersion: "1.48.2" },
  "windsurf-next": {
    ...windsurf,
    ...next,
    name: "windsurf-next",
    productFolder: "Windsurf - Next",
    ideVersion: "2.3.102",
    extensionVersion: "1.49.0",
  },
  "windsurf-1.9544": {
    ...oldWindsurf,
    name: "windsurf-1.9544",
    ideVersion: "1.9544.35",
    extensionVersion: "1.48.2",
    missing: ["GetCascadeTranscriptForTrajectoryId", "ArchiveCascadeTrajectory"],
  },
  "windsurf-1.8": {
    ...oldWindsurf,
    name: "windsurf-1.8",
    ideVersion: "1.8.2",
    extensionVersion: "1.40.1",
    rawChat: "answer",
    missing: cascadeRpcs,
  },
  "devin-3": { ...devin, name: "devin-3", devin: { editor: true, command: "devin-desktop" } },
  "devin-next": {
    ...devin,
    ...next,
    name: "devin-next",
    productFolder: "Devin - Next",
    ideVersion: "3.11.228",
    extensionVersion: "1.51.0",
    devin: { editor: true, command: "devin-desktop-next" },
  },
  "devin-cli": { ...devin, name: "devin-cli", devin: { editor: false, command: "devin-desktop" } },
  antigravity: {
    ...windsurf,
    name: "antigravity",
    family: "antigravity",
    ideName: "antigravity",
    productFolder: "Antigravity",
    codeiumFolder: ".gemini/antigravity",
    ideVersion: "2.0.6",
    extensionVersion: "0.2.0",
    csrfIn: "argument",
    missing: [],
  },
};
