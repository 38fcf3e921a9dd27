import { MillraceError } from "../../base/errors.ts";
import type { LogMedium } from "./medium.ts";

/**
 * A medium that a test can make fail: `full` refuses writes, `gone` refuses everything, `turnless` new turns and their events. `broken`
 * fails at events with an error that nothing translates.
 */
export class FailingMedium {
  fault: "none" | "full" | "gone" | "turnless" | "broken" = "none";
  readonly medium: LogMedium;

  constructor(inner: LogMedium) {
    const reads = new Set(["get", "list", "read", "untilChanged", "owners", "close"]);
    const turns = new Set(["create", "append"]);
    this.medium = new Proxy(inner, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return async (...values: unknown[]) => {
          const fails = {
            none: false,
            full: !reads.has(String(name)),
            gone: true,
            turnless: turns.has(String(name)),
            broken: name === "append",
          };
          if (fails[this.fault]) {
            if (this.fault === "broken") throw new Error("no code of this is known");
            throw new MillraceError("degraded", `The log's file is ${this.fault}.`);
          }
          return Reflect.apply(value, target, values);
        };
      },
    });
  }
}
