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

/** The visible differences between builds. Source: docs/wire/language-server.md, "Builds"; docs/wire/processes.md, "Arguments". */
export interface Profile {
  readonly name: ProfileName;
  /** Antigravity speaks a fork of the schema, over TLS too, and takes no prompts here. */
  readonly family: "windsurf" | "antigravity";
  /** The value of `--ide_name`. */
  readonly ideName: string;
  /** The folder of user data below `~/.config`, `~/Library/Application Support` or `%APPDATA%`. */
  readonly productFolder: string;
  /** The folder the unpacked product lives in. */
  readonly appFolder: string;
  /** The folder of the extension, below `extensions/`. */
  readonly extensionFolder: string;
  /** Below the home: conversations, code index, memories. */
  readonly codeiumFolder: string;
  readonly ideVersion: string;
  readonly extensionVersion: string;
  /** Where the CSRF token travels: command line (old) or environment (new). */
  readonly csrfIn: "argument" | "environment";
  readonly stdinMetadata: boolean;
  /** Whether Send and Start demand a trusted workspace. */
  readonly needsTrust: boolean;
  /** The default behaviour of `RawGetChatMessage`: answer, or refuse in the trailer. */
  readonly rawChat: "answer" | "trailer";
  /** RPCs this build does not have: their paths are unknown to it. */
  readonly missing: readonly string[];
  /** Devin Desktop and its CLI, which come with a `devin` program that speaks ACP. Source: docs/wire/acp.md. */
  readonly devin?: {
    /** Whether an editor runs; without one only the CLI is installed. */
    readonly editor: boolean;
    /** The folder that holds the product on Linux. */
    readonly linuxFolder: string;
    /** The command that opens the editor, which `product.json` names. */
    readonly command: string;
    readonly bundleId: string;
  };
}

/** The RPCs that make up Cascade. */
export const cascadeRpcs: readonly string[] = [
  "InitializeCascadePanelState",
  "StartCascade",
  "SendUserCascadeMessage",
  "QueueCascadeMessage",
  "GetCascadeTrajectory",
  "GetCascadeTrajectorySteps",
  "GetCascadeTrajectoryGeneratorMetadata",
  "GetCascadeTranscriptForTrajectoryId",
  "GetAllCascadeTrajectories",
  "CancelCascadeInvocation",
  "ArchiveCascadeTrajectory",
  "DeleteCascadeTrajectory",
  "UpdatePanelStateWithUserStatus",
];

const windsurf = {
  family: "windsurf",
  ideName: "windsurf",
  productFolder: "Windsurf",
  appFolder: "Windsurf",
  extensionFolder: "windsurf",
  codeiumFolder: ".codeium/windsurf",
} as const;

const devin = {
  ...windsurf,
  productFolder: "Devin",
  appFolder: "Devin",
  csrfIn: "environment",
  stdinMetadata: true,
  needsTrust: false,
  rawChat: "trailer",
  missing: ["UpdateWorkspaceTrust"],
} as const;

/** Every profile by its name. */
export const profiles: Readonly<Record<ProfileName, Profile>> = {
  "windsurf-2": {
    ...windsurf,
    name: "windsurf-2",
    ideVersion: "2.2.17",
    extensionVersion: "1.48.2",
    csrfIn: "environment",
    stdinMetadata: true,
    needsTrust: false,
    rawChat: "trailer",
    missing: ["UpdateWorkspaceTrust"],
  },
  "windsurf-next": {
    ...windsurf,
    name: "windsurf-next",
    ideName: "windsurf-next",
    productFolder: "Windsurf - Next",
    appFolder: "Windsurf - Next",
    codeiumFolder: ".codeium/windsurf-next",
    ideVersion: "2.3.102",
    extensionVersion: "1.49.0",
    csrfIn: "environment",
    stdinMetadata: true,
    needsTrust: false,
    rawChat: "trailer",
    missing: ["UpdateWorkspaceTrust"],
  },
  "windsurf-1.9544": {
    ...windsurf,
    name: "windsurf-1.9544",
    ideVersion: "1.9544.35",
    extensionVersion: "1.48.2",
    csrfIn: "argument",
    stdinMetadata: true,
    needsTrust: true,
    rawChat: "trailer",
    missing: ["GetCascadeTranscriptForTrajectoryId", "ArchiveCascadeTrajectory"],
  },
  "windsurf-1.8": {
    ...windsurf,
    name: "windsurf-1.8",
    ideVersion: "1.8.2",
    extensionVersion: "1.40.1",
    csrfIn: "argument",
    stdinMetadata: false,
    needsTrust: true,
    rawChat: "answer",
    missing: cascadeRpcs,
  },
  "devin-3": {
    ...devin,
    name: "devin-3",
    ideVersion: "3.10.48",
    extensionVersion: "1.50.3",
    devin: {
      editor: true,
      linuxFolder: "devin-desktop",
      command: "devin-desktop",
      bundleId: "com.exafunction.windsurf",
    },
  },
  "devin-next": {
    ...devin,
    name: "devin-next",
    ideName: "windsurf-next",
    productFolder: "Devin - Next",
    appFolder: "Devin - Next",
    codeiumFolder: ".codeium/windsurf-next",
    ideVersion: "3.11.228",
    extensionVersion: "1.51.0",
    devin: {
      editor: true,
      linuxFolder: "devin-desktop-next",
      command: "devin-desktop-next",
      bundleId: "com.exafunction.windsurfNext",
    },
  },
  "devin-cli": {
    ...devin,
    name: "devin-cli",
    ideVersion: "3.10.48",
    extensionVersion: "1.50.3",
    devin: {
      editor: false,
      linuxFolder: "devin-desktop",
      command: "devin-desktop",
      bundleId: "com.exafunction.windsurf",
    },
  },
  antigravity: {
    name: "antigravity",
    family: "antigravity",
    ideName: "antigravity",
    productFolder: "Antigravity",
    appFolder: "Antigravity",
    extensionFolder: "antigravity",
    codeiumFolder: ".gemini/antigravity",
    ideVersion: "2.0.6",
    extensionVersion: "0.2.0",
    csrfIn: "argument",
    stdinMetadata: true,
    needsTrust: false,
    rawChat: "trailer",
    missing: [],
  },
};

/** A build before February 2026: it has no family and no dimension of a model, no billing strategy and no abilities of Devin. */
export function isOldBuild({ name }: Pick<Profile, "name">): boolean {
  return name === "windsurf-1.9544" || name === "windsurf-1.8";
}
