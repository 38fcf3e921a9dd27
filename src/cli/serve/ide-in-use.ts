import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import type { IdeOverrides } from "../../ide/discover/overrides.ts";
import type { AgentProgram, Ide } from "../../ide/ide.ts";
import { ideVariants } from "../../language-server/transport/endpoint.ts";

const ideSchema = z.object({
  variant: z.enum(ideVariants),
  product: z.string(),
  standIn: z.boolean(),
  /** One installation of a product: the same after its restart. */
  place: z.string(),
  /** A digest of the key that its account is signed in with; empty where there was none. */
  account: z.string(),
});

const agentSchema = z.object({
  variant: z.enum(ideVariants),
  product: z.string(),
  /** Whose credentials it had: its own, or those of its product's app. */
  signedIn: z.enum(["own", "editor"]),
  home: z.string(),
});

/** The IDE whose server got the last prompt, so that it is known again: after its restart, and after the gateway's. */
export type IdeInUse = Readonly<z.output<typeof ideSchema>>;
/** The vendor's agent program that got the last prompt to an agent. */
export type AgentInUse = Readonly<z.output<typeof agentSchema>>;

/** The programs that got the last prompts. */
export interface ProgramsInUse {
  readonly ide?: IdeInUse | undefined;
  readonly agent?: AgentInUse | undefined;
}

export function ideInUse({ variant, product, standIn, stateFile, codeiumFolder, identity }: Ide): IdeInUse {
  const key = identity.apiKey.reveal(); // compared, never shown
  return {
    variant,
    product,
    standIn: standIn === true,
    place: JSON.stringify([variant, standIn === true, stateFile ?? codeiumFolder ?? null]),
    account: key === "" ? "" : createHash("sha256").update(`the account of ${key}`).digest("base64url"),
  };
}

/** An agent program as it is now; undefined where no account is signed in. */
export function agentInUse({ variant, product, signedIn, home }: AgentProgram): AgentInUse | undefined {
  return signedIn === "no" ? undefined : { variant, product, signedIn, home };
}

/**
 * Whether a prompt may go from one agent program to another without the user's word: both have the same credentials, or the user has
 * signed in to the agent itself since then.
 */
export function mayFollow(before: AgentInUse, { signedIn, home, variant }: AgentProgram): boolean {
  if (signedIn === "own") return before.signedIn === "editor" || before.home === home;
  return signedIn === before.signedIn && home === before.home && variant === before.variant;
}

/** Where the programs in use are remembered over restarts of the gateway. */
export interface IdeMemory {
  read(): ProgramsInUse | undefined;
  write(used: ProgramsInUse): void;
}

const fileSchema = z.object({ ide: ideSchema.optional(), agent: agentSchema.optional(), named: z.string() });

/**
 * In a file (0600). `named`: how the user named an IDE; under another name nothing is remembered. If the file cannot be read or written,
 * a restart forgets the programs in use.
 */
export function ideMemory(file: string, named: IdeOverrides): IdeMemory {
  const under = JSON.stringify(named);
  return {
    read() {
      try {
        const kept = fileSchema.parse(JSON.parse(readFileSync(file, "utf8")));
        return kept.named === under ? kept : undefined;
      } catch {
        return undefined; // none yet, or not ours
      }
    },
    write(used) {
      try {
        replaceFileSync(file, JSON.stringify({ ...used, named: under }));
      } catch {
        // they are known until the gateway ends
      }
    },
  };
}
