import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import type { IdeOverrides } from "../../ide/discover/overrides.ts";
import type { Ide } from "../../ide/ide.ts";
import { ideVariants } from "../../language-server/transport/endpoint.ts";

const schema = z.object({
  variant: z.enum(ideVariants),
  product: z.string(),
  standIn: z.boolean(),
  /** One installation of a product: the same after its restart. */
  place: z.string(),
  /** A digest of the key that its account is signed in with; empty where there was none. */
  account: z.string(),
});

/** The IDE that got the last prompt, so that it is known again: after its restart, and after the gateway's. */
export type IdeInUse = Readonly<z.output<typeof schema>>;

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

/** Where the IDE in use is remembered over restarts of the gateway. */
export interface IdeMemory {
  read(): IdeInUse | undefined;
  write(used: IdeInUse): void;
}

/**
 * In a file (0600). `named`: how the user named an IDE; under another name nothing is remembered. If the file cannot be read or written,
 * a restart forgets the IDE in use.
 */
export function ideMemory(file: string, named: IdeOverrides): IdeMemory {
  const under = JSON.stringify(named);
  return {
    read() {
      try {
        const kept = schema.extend({ named: z.string() }).parse(JSON.parse(readFileSync(file, "utf8")));
        return kept.named === under ? kept : undefined;
      } catch {
        return undefined; // none yet, or not ours
      }
    },
    write(used) {
      try {
        replaceFileSync(file, JSON.stringify({ ...used, named: under }));
      } catch {
        // it is known until the gateway ends
      }
    },
  };
}
