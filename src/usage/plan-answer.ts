import type { MillraceError } from "../base/errors.ts";
import type { IdeVariant, promptedVariants } from "../language-server/transport/endpoint.ts";
import type { UserStatus } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { antigravitySnapshot } from "./antigravity-plan.ts";
import type { LimitsSnapshot } from "./limits.ts";
import { type SavedPlanRows, savedPlanSnapshot } from "./saved-plan.ts";
import { type MessagesLeft, windsurfSnapshot } from "./windsurf-plan.ts";

/** One IDE's answer to the request for its plan, the reason why it gave none, or the plan that its app saved. */
export type PlanAnswer =
  | {
      readonly type: "windsurf";
      readonly ide: (typeof promptedVariants)[number];
      readonly build: string;
      /** The answer is a stand-in's, which has no plan of the user. */
      readonly standIn?: true;
      readonly userStatus: UserStatus;
      /** How many messages one model still takes, where the server says it. */
      readonly messages?: MessagesLeft;
    }
  /** The JSON answers of GetUserStatus and RetrieveUserQuotaSummary; undefined for an RPC that the build lacks. */
  | {
      readonly type: "antigravity";
      readonly ide: "antigravity";
      readonly build: string;
      readonly standIn?: true;
      readonly userStatus: unknown;
      readonly quotaSummary: unknown;
    }
  /** Nothing was asked: the app saved this at its last start. */
  | {
      readonly type: "saved";
      readonly ide: (typeof promptedVariants)[number];
      readonly build: string;
      readonly standIn?: true;
      readonly rows: SavedPlanRows;
    }
  | { readonly type: "failed"; readonly ide: IdeVariant; readonly error: MillraceError };

/**
 * The snapshot in an answer that was read at `readAtMs` (epoch ms).
 *
 * @throws MillraceError `upstream_failed` for an answer of a form that is not known, or a saved plan that cannot be believed.
 */
export function snapshotOfAnswer(
  answer: Exclude<PlanAnswer, { readonly type: "failed" }>,
  readAtMs: number,
): LimitsSnapshot {
  const source = { ide: answer.ide, build: answer.build, readAtMs, source: "language_server" } as const;
  const snapshot = snapshotIn(answer, source, readAtMs);
  return answer.standIn === true ? { ...snapshot, standIn: true } : snapshot;
}

function snapshotIn(
  answer: Exclude<PlanAnswer, { readonly type: "failed" }>,
  source: Pick<LimitsSnapshot, "ide" | "build" | "readAtMs"> & { readonly source: "language_server" },
  nowMs: number,
): LimitsSnapshot {
  switch (answer.type) {
    case "saved":
      return savedPlanSnapshot(answer.rows, source, nowMs);
    case "windsurf":
      return windsurfSnapshot(answer.userStatus, source, answer.messages);
    case "antigravity":
      return antigravitySnapshot(answer, source);
    default:
      return answer satisfies never;
  }
}
