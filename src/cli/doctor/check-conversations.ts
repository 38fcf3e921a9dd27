import type { CascadesOnDisk } from "../own-cascades.ts";
import type { Finding } from "./finding.ts";
import { spellBytes } from "./spell.ts";

export interface ConversationsCheck {
  readonly own_files: number;
  readonly own_bytes: number;
  readonly other_files: number;
  readonly other_bytes: number;
  readonly findings: readonly Finding[];
}

const manyBytes = 500 * 1000 ** 2;

/** How much disk conversations take in the IDE's folders, ours and its own. */
export function checkConversations({ own, others }: CascadesOnDisk): ConversationsCheck {
  const ownBytes = own.reduce((sum, { bytes }) => sum + bytes, 0);
  const what = `${own.length} conversations of Millrace take ${spellBytes(ownBytes)} in the IDE's folders; its own ${others.files} take ${spellBytes(others.bytes)}`;
  const finding: Finding =
    ownBytes > manyBytes
      ? { area: "conversations", level: "warning", what, todo: "`millrace cascades clean` shows what can go." }
      : { area: "conversations", level: "ok", what };
  return {
    own_files: own.length,
    own_bytes: ownBytes,
    other_files: others.files,
    other_bytes: others.bytes,
    findings: [finding],
  };
}
