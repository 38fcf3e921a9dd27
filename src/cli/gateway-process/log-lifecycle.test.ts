import { expect, test } from "vitest";
import { Emitter } from "../../base/emitter.ts";
import { MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import { type GatewayLifecycle, logLifecycle } from "./gateway-log.ts";

test("events of a gateway's life become log lines, with a stack only for unexpected errors", () => {
  const lines: (readonly [string, string, Readonly<Record<string, unknown>>])[] = [];
  const events = new Emitter<GatewayLifecycle>();
  const log = {
    write: (...line: (typeof lines)[number]) => {
      lines.push(line);
    },
  };
  logLifecycle(events, log, { store: "redis", file: "turns.db" });
  const error = new MillraceError("degraded", "The disk is full.", { hint: "Make room." });
  events.emit("store_failed", { error });
  events.emit("store_recovered", {});
  events.emit("store_damaged", { copy: "turns.db.damaged-1" });
  events.emit("history_failed", { error });
  events.emit("history_recovered", {});
  events.emit("turn_problem", { event: "turn_adopt_failed", turnId: "turn_1" as TurnId, error: "odd" });
  events.emit("ide_read", { turnId: "turn_1" as TurnId, ideTools: ["VIEW_FILE"] });
  events.emit("agent_hostless", { agent: "devin", why: "no host" });
  expect(lines).toEqual([
    ["error", "store_degraded", { store: "redis", why: "The disk is full.", hint: "Make room." }],
    ["info", "store_healed", { store: "redis" }],
    ["error", "store_damaged", { store: "redis", copy: "turns.db.damaged-1" }],
    ["error", "usage_degraded", { file: "turns.db", why: "The disk is full.", hint: "Make room." }],
    ["info", "usage_healed", { file: "turns.db" }],
    ["warn", "turn_adopt_failed", { turnId: "turn_1", error: "odd" }],
    ["info", "the IDE's agent read", { turnId: "turn_1", ideTools: ["VIEW_FILE"] }],
    ["warn", "agent_hostless", { agent: "devin", why: "no host" }],
  ]);
});
