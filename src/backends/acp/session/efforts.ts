import type { AcpModel } from "../process/agent-spec.ts";
import type { SessionOffer } from "./session-options.ts";

/** How hard a model thinks, in the words that agents use for it. Source: docs/wire/acp.md, "Sessions". */
const effortWord = /^(?:none|minimal|low|medium|high|xhigh|max)$/;
const named = /^(.+)@([a-z]+)$/;

/** A model and the effort behind its id; `claude-sonnet-5@high` names an effort that the agent has as a separate option. */
export function splitEffort(id: string): { readonly model: string; readonly effort: string | undefined } {
  const [, model, effort] = named.exec(id) ?? [];
  return model === undefined || effort === undefined || !effortWord.test(effort)
    ? { model: id, effort: undefined }
    : { model, effort };
}

/** The models of a session, and each once more for every effort that the session can be set to. An id that names its effort stays alone. */
export function withEfforts({ model, effort }: SessionOffer): readonly AcpModel[] | undefined {
  const efforts = effort?.values.filter(({ value }) => effortWord.test(value.toLowerCase())) ?? [];
  return model?.models.flatMap((each) =>
    /[-:@](?:none|minimal|low|medium|high|xhigh|max)$/.test(each.id)
      ? [each]
      : [
          each,
          ...efforts.map(({ value, label }) => ({
            ...each,
            id: `${each.id}@${value.toLowerCase()}`,
            label: `${each.label} ${label}`,
            isCurrent: false,
          })),
        ],
  );
}
