import { readFileSync } from "node:fs";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type UserStatus, UserStatusSchema } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { type LimitsSnapshot, type LimitWindow, percentWindow } from "./limits.ts";

/** One recorded answer, as its JSON. Names, addresses and ids in them are made up. */
export function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), "utf8"));
}

/** A recorded Windsurf answer as the message that the client hands over. */
export function windsurfFixture(name: string): UserStatus {
  return fromJson(UserStatusSchema, fixture(name) as JsonValue, { ignoreUnknownFields: true }); // parsed from JSON
}

/** A snapshot with one percent window that is `usedFraction` used. */
export function snapshotOf(options: {
  readonly readAtMs: number;
  readonly usedFraction: number | undefined;
  readonly resetsAtMs: number | undefined;
  readonly windowSeconds?: number | undefined;
  readonly ide?: LimitsSnapshot["ide"];
  readonly windows?: readonly LimitWindow[];
}): LimitsSnapshot {
  const { readAtMs, usedFraction, resetsAtMs, windowSeconds } = options;
  const window = percentWindow(
    { id: "weekly", label: "Weekly quota", scope: "plan", resetsAtMs, windowSeconds },
    usedFraction === undefined ? undefined : 1 - usedFraction,
  );
  return {
    ide: options.ide ?? "windsurf",
    build: "2.3.15",
    readAtMs,
    source: "language_server",
    shape: "quota",
    planName: "Pro",
    windows: options.windows ?? [window],
  };
}
