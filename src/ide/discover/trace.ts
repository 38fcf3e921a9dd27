import type { TraceEntry } from "../ide.ts";

/** Collects the decisions of one discovery, in order. Takes words and numbers only: a `Secret` does not fit. */
export class Trace {
  readonly entries: TraceEntry[] = [];

  kept(stage: TraceEntry["stage"], subject: string, rule: string, why: string): void {
    this.entries.push({ stage, subject, rule, verdict: "kept", why });
  }

  rejected(stage: TraceEntry["stage"], subject: string, rule: string, why: string): void {
    this.entries.push({ stage, subject, rule, verdict: "rejected", why });
  }

  note(stage: TraceEntry["stage"], subject: string, rule: string, why: string): void {
    this.entries.push({ stage, subject, rule, verdict: "note", why });
  }

  add(other: Trace): void {
    this.entries.push(...other.entries);
  }
}
