import { MillraceError } from "../base/errors.ts";
import type { LogMedium } from "./medium.ts";

/** A medium that a test can make fail: `full` refuses writes, `gone` refuses everything. */
export class FailingMedium {
  fault: "none" | "full" | "gone" = "none";
  readonly medium: LogMedium;

  constructor(inner: LogMedium) {
    const reads = new Set(["get", "list", "read", "untilChanged", "owners", "close"]);
    this.medium = new Proxy(inner, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return async (...values: unknown[]) => {
          if (this.fault === "gone" || (this.fault === "full" && !reads.has(String(name)))) {
            throw new MillraceError("degraded", `The log's file is ${this.fault}.`);
          }
          return Reflect.apply(value, target, values);
        };
      },
    });
  }
}
