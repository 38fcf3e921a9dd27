import type { Meter } from "../../usage/meter.ts";
import { bounds } from "../dialects/bounds.ts";

/** The part of the meter that routes ask. */
export type GatewayMeter = Pick<Meter, "limits" | "ask" | "elsewhere" | "lastUses">;

/** The event log's medium. */
export interface StoreState {
  /** Answers flow, but live in memory only: they cannot be resumed after a restart. */
  readonly degraded: boolean;
  /** The problem and the user's next step, while the problem lasts. */
  readonly why: string | null;
  readonly hint: string | null;
  /** The store was found damaged when it was opened, and the log is new: where the old files are kept. */
  readonly damaged?: { readonly copy: string } | null;
}

export interface ConsentBook {
  /** The IDEs here whose plan prompts would use. */
  list(signal: AbortSignal): Promise<
    readonly {
      readonly ide: string;
      readonly product: string;
      /** The text that the user agrees to. */
      readonly text: string;
      readonly acceptedAt: string | null;
    }[]
  >;
  /** Remembers that the user agrees for this IDE. Answers false where `list` does not have it. */
  give(ide: string, signal: AbortSignal): Promise<boolean>;
}

/** The limits of a gateway whose options name no others. */
export const defaultLimits = {
  maxBodyBytes: bounds.body.bytes,
  /** Above the 400 answers at once that `bench load` measures. */
  mostOpen: 512,
};
