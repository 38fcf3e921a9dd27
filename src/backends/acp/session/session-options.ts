import { isEffort, withEffort } from "../../../base/effort.ts";
import type { AcpModel, SessionOffer } from "../wire/session-offer.ts";

/**
 * The modes in which an agent does not write without asking, the most restrictive first. They are whole names: in a longer one
 * ("plan and execute", "don't ask") another word may say that the agent acts. Source: docs/dev/wire/acp.md, "Modes and what they
 * prevent".
 */
const restrictive = ["ask", "read only", "workspace read only", "readonly", "chat", "plan"];

/**
 * The most restrictive mode that a session of an agent offers which Millrace does not know; undefined where it offers none. A name that is
 * not in the table counts as permissive.
 */
export function quietMode({ mode }: SessionOffer): string | undefined {
  const words = (id: string) =>
    id
      .replace(/^.*#/, "") // some agents give an address
      .replaceAll(/(?<=[a-z])(?=[A-Z])|[^A-Za-z]+/g, " ")
      .replace(/ mode$/i, "")
      .trim()
      .toLowerCase();
  return restrictive.map((name) => mode?.ids.find((id) => words(id) === name)).find((id) => id !== undefined);
}

/**
 * The models of a session, and each once more for every effort that the session can be set to. An id that names its effort stays alone.
 * Source: docs/dev/wire/acp.md, "Sessions".
 */
export function withEfforts({ model, effort }: SessionOffer): readonly AcpModel[] | undefined {
  const efforts = effort?.values.filter(({ value }) => isEffort(value.toLowerCase())) ?? [];
  return model?.models.flatMap((each) =>
    isEffort(/[-:@]([a-z]+)$/.exec(each.id)?.[1] ?? "")
      ? [each]
      : [
          each,
          ...efforts.map(({ value, label }) => ({
            ...each,
            id: withEffort(each.id, value.toLowerCase()),
            label: `${each.label} ${label}`,
            isCurrent: false,
          })),
        ],
  );
}
