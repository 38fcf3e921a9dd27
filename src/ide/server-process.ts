import type { IdeVariant } from "../language-server/endpoint.ts";
import type { Flags } from "./command-line.ts";
import type { ProcessRow } from "./host.ts";

/** A process that is a language server by its command line. */
export interface ServerProcess {
  readonly row: ProcessRow;
  readonly variant: IdeVariant;
  readonly flags: Flags;
}
