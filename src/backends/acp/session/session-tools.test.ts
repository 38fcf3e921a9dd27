import { expect, test } from "vitest";
import type { RelayDoor } from "../relay/relay-hub.ts";
import type { RelayedCall } from "../relay/relay-wire.ts";
import { SessionTools } from "./session-tools.ts";

test("five calls in a row that do not fit are refused; the next one is the client's to judge", () => {
  const tools = new SessionTools({ tell: () => {}, close: () => {} } as unknown as RelayDoor, "server");
  const check = (given: unknown) => (JSON.stringify(given) === "{}" ? "a path is missing" : undefined);
  tools.offer([{ name: "Read", description: "", inputSchema: {}, check }]);
  const call = (given: string, name = "Read") => ({ callId: "1", name, arguments: given }) as unknown as RelayedCall;
  const misfit = { ...call(""), arguments: {} } as unknown as RelayedCall;
  const fitting = { ...misfit, arguments: { path: "a" } };
  const problems = (calls: readonly RelayedCall[]) => calls.map((one) => tools.problemOf(one) !== undefined);
  expect(problems(Array.from({ length: 6 }, () => misfit))).toEqual([true, true, true, true, true, false]);
  expect(problems([misfit, fitting, misfit])).toEqual([true, false, true]); // counted anew after one that fits
  expect(tools.problemOf(call("", "Write"))).toContain('"Write" may not be called now');
});
