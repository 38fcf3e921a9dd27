import type { CascadesOnDisk } from "../compose/own-cascades.ts";
import type { Finding } from "./finding.ts";
import { spellBytes, spellCount } from "./spell.ts";

export interface ConversationsCheck {
  readonly own_files: number;
  readonly own_bytes: number;
  readonly other_files: number;
  readonly other_bytes: number;
  readonly findings: readonly Finding[];
}

function taken(files: number, bytes: number): string {
  return `${spellCount(files, "conversation")} (${spellBytes(bytes)} on disk)`;
}

const manyBytes = 500 * 1000 ** 2;

/** How much disk conversations take in the IDE's folders, ours and its own. */
export function checkConversations({ own, others }: CascadesOnDisk): ConversationsCheck {
  const ownBytes = own.reduce((sum, { bytes }) => sum + bytes, 0);
  const ours =
    own.length === 0
      ? "No conversation of Millrace is left in the IDE"
      : `${taken(own.length, ownBytes)} of Millrace ${own.length === 1 ? "is" : "are"} in the IDE`;
  const theirs = others.files === 0 ? "" : `; ${taken(others.files, others.bytes)} are the IDE's own`;
  const what = `${ours}${theirs}`;
  const level = ownBytes > manyBytes ? "warning" : "note";
  const finding: Finding =
    own.length === 0
      ? { area: "conversations", level: "ok", what }
      : { area: "conversations", level, what, todo: "`millrace cascades clean` shows what can go." };
  return {
    own_files: own.length,
    own_bytes: ownBytes,
    other_files: others.files,
    other_bytes: others.bytes,
    findings: [finding],
  };
}
