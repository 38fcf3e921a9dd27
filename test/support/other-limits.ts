import { defaultDoors } from "../../src/base/node/door.ts";
import { defaultIdle } from "../../src/cli/gateway-process/idle-end.ts";
import { defaultConnectionLimits } from "../../src/gateway/http/connection-limits.ts";
import { defaultLimits } from "../../src/gateway/http/options.ts";
import { defaultPlaces } from "../../src/gateway/streams/session.ts";

/**
 * Millrace from its sources with limits that no user sets, so that a test need not wait for them: `MILLRACE_TEST_LIMITS` holds those of
 * connections, of the gateway, of the stream protocol and of an idle gateway, as one JSON object; and the kind of doors.
 */
const wanted = JSON.parse(process.env["MILLRACE_TEST_LIMITS"] ?? "{}") as Readonly<Record<string, unknown>>;
for (const limits of [defaultConnectionLimits, defaultLimits, defaultPlaces, defaultDoors, defaultIdle] as object[])
  Object.assign(limits, Object.fromEntries(Object.entries(wanted).filter(([name]) => name in limits)));
await import("../../src/cli/bin.ts");
