import { createHash } from "node:crypto";
import { MillraceError } from "../../base/errors.ts";
import { writeJson } from "../../base/json.ts";
import type { TurnRequest } from "../../log/request.ts";
import type { TurnRecord } from "../../log/store.ts";
import type { AskedTurn } from "../../turns/turns.ts";
import { projectFromMessages } from "../../usage/history/project-of.ts";
import type { Block } from "../dialects/answer.ts";
import type { ClientInput, ToolResult } from "../dialects/idempotent/client-message.ts";
import { contentsOf, continueRequest, parseChat } from "../dialects/idempotent/request.ts";
import type { RpcParts } from "../http/rpc-handler.ts";
import { withPdfTexts } from "../pdf/pdf-parts.ts";
import type { AttachRequest } from "./attach-headers.ts";

/** The turn of a stream's request. @throws MillraceError for a request or a model that cannot be. */
export async function firstTurn(
  { models, readPdf }: Pick<RpcParts, "models" | "readPdf">,
  ask: AttachRequest,
  { chat }: Extract<ClientInput, { type: "request" }>,
  signal: AbortSignal,
): Promise<AskedTurn> {
  const { body } = await withPdfTexts({ messages: contentsOf(chat) }, readPdf);
  const request = parseChat(chat, (body as { readonly messages: ReturnType<typeof contentsOf> }).messages); // the same, with other parts
  const { model, rule } = await models.resolve(request.model, request.reasoningEffort, signal);
  return {
    dialect: "idempotent",
    request,
    modelUid: model.uid,
    modelNumber: model.number,
    modelRule: rule,
    session: ask.session ?? (chat.conversationId || undefined),
    ...asked(ask, request, 0),
  };
}

/** The turn that follows once every call of the last one has its result: the same model, the same conversation. */
export function nextTurn(
  ask: AttachRequest,
  segment: number,
  last: TurnRecord | undefined,
  { blocks, results }: { readonly blocks: readonly Block[]; readonly results: ReadonlyMap<string, ToolResult> },
): AskedTurn {
  if (last === undefined) throw new MillraceError("expired", "The earlier answer is no longer kept.");
  const request = continueRequest(last.request, blocks, results);
  return {
    dialect: "idempotent",
    request,
    modelUid: last.modelUid as AskedTurn["modelUid"], // it was one when the turn was stored
    modelNumber: last.modelNumber,
    modelRule: last.modelRule,
    session: last.session,
    ...asked(ask, request, segment),
  };
}

type StartFields = "caller" | "client" | "project" | "graceMs" | "idempotencyKey" | "fingerprint" | "body";

function asked(
  { name, client, project, graceMs }: AttachRequest,
  request: TurnRequest,
  segment: number,
): Pick<AskedTurn, StartFields> {
  return {
    caller: name.caller,
    client,
    project: project ?? projectFromMessages(request), // now: who looks on later cannot read the request
    graceMs,
    idempotencyKey: undefined, // the numbers of the stream do its work
    fingerprint: digestOf(["idempotent", name.caller, name.name, segment]),
    body: digestOf([name.caller, request]),
  };
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(writeJson(value)).digest("hex");
}
