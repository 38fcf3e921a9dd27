import { MillraceError } from "../base/errors.ts";
import type { Rows } from "./rows.ts";

/** Rows that a test can make fail as a medium does: `full` refuses every write, `gone` every call. `broken` fails as no medium should. */
export class FailingRows {
  fault: "none" | "full" | "gone" | "broken" = "none";
  /** When a commit that was done is answered; at once by default. */
  answers = Promise.resolve();
  readonly rows: Rows;

  constructor(inner: Rows) {
    const fail = (what: string) => {
      throw new MillraceError("degraded", `The log's file ${what}.`);
    };
    const write = () => {
      if (this.fault === "full") fail("has no room left");
      if (this.fault === "broken") throw new Error("no code of this is known");
      read();
    };
    const read = () => {
      if (this.fault === "gone") fail("was deleted or replaced");
    };
    this.rows = {
      abilities: inner.abilities,
      commit: async (ops, flush) => {
        write();
        const outcome = await inner.commit(ops, flush);
        await this.answers;
        return outcome;
      },
      sweep: async (nowMs, kinds) => (write(), inner.sweep(nowMs, kinds)),
      get: async (id, withHead) => (read(), inner.get(id, withHead)),
      find: async (filter) => (read(), inner.find(filter)),
      entries: async (id, after, most) => (read(), inner.entries(id, after, most)),
      changed: (id, signal) => inner.changed(id, signal),
      close: () => inner.close(),
    };
  }
}
