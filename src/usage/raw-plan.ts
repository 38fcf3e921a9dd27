import { type Message, toJson } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import type { JsonValue } from "../base/json.ts";
import {
  type PlanInfo,
  PlanInfoSchema,
  type PlanStatus,
  PlanStatusSchema,
  type UserStatus,
} from "../proto/windsurf/exa/codeium_common_pb.ts";

/** Members of `planInfo` that name a person, an organisation or a place, or are large and tell nothing of limits. */
const leftOut = ["devinInfo", "defaultTeamConfig", "defaultTeamFeatures", "cascadeAllowedModelsConfig"];

/**
 * The part of a Windsurf user status that concerns the plan, as proto3 JSON. What is kept is listed, not what is dropped:
 * a name, an address or a key in a field of tomorrow cannot get in. Unknown fields are kept by number; of those with
 * text or bytes only the length.
 */
export function rawWindsurfPlan(userStatus: UserStatus): JsonValue {
  const plan = userStatus.planStatus;
  return {
    pro: userStatus.pro,
    userUsedPromptCredits: userStatus.userUsedPromptCredits.toString(),
    userUsedFlowCredits: userStatus.userUsedFlowCredits.toString(),
    ...(plan === undefined ? {} : { planStatus: planJson(plan) }),
  };
}

function planJson(plan: PlanStatus): JsonValue {
  const { planInfo: _, ...rest } = asObject(toJson(PlanStatusSchema, plan));
  const info = plan.planInfo;
  return {
    ...rest,
    ...unknownFields(plan),
    ...(info === undefined ? {} : { planInfo: infoJson(info) }),
  };
}

function infoJson(info: PlanInfo): JsonValue {
  const json = asObject(toJson(PlanInfoSchema, info));
  return {
    ...Object.fromEntries(Object.entries(json).filter(([key]) => !leftOut.includes(key))),
    ...unknownFields(info),
  };
}

function unknownFields(message: Message): { readonly [key: string]: JsonValue } {
  const fields = message.$unknown ?? [];
  if (fields.length === 0) return {};
  return {
    $unknown: fields.map(({ no, wireType, data }) => ({
      no,
      wireType,
      ...(wireType === WireType.LengthDelimited
        ? { bytes: data.length }
        : { base64: btoa(String.fromCharCode(...data)) }),
    })),
  };
}

function asObject(json: unknown): { readonly [key: string]: JsonValue } {
  return json as { readonly [key: string]: JsonValue }; // proto3 JSON of a message with no wrapper type is always an object
}
