import { createHash } from "node:crypto";
import { MillraceError } from "../../base/errors.ts";
import { writeJsonApart } from "../../base/json.ts";
import { ownTurn } from "../../base/node/unhurried.ts";
import { piecesOf } from "../../base/pieces.ts";
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

/** Characters that are digested in one turn of the event loop. */
const mostAtOnce = 1 << 20;

/** The turn of a stream's request. @throws MillraceError for a request or a model that cannot be. */
export async function firstTurn(
  { models, readPdf }: Pick<RpcParts, "models" | "readPdf">,
  ask: AttachRequest,
  { chat }: Extract<ClientInput, { type: "request" }>,
  signal: AbortSignal,
): Promise<AskedTurn> {
  const files = new Map<Uint8Array, string>();
  for (const { data } of chat.conversation.flatMap((message) => message.files)) {
    files.set(data, Buffer.from(data.buffer, data.byteOffset, data.length).toString("base64"));
    await ownTurn();
  }
  const contents = contentsOf(chat, (data) => files.get(data) ?? "");
  const { body } = await withPdfTexts({ messages: contents }, readPdf);
  const request = parseChat(chat, (body as { readonly messages: typeof contents }).messages); // the same, with other parts
  const { model, rule } = await models.resolve(request.model, request.reasoningEffort, signal);
  return {
    dialect: "idempotent",
    request,
    modelUid: model.uid,
    modelNumber: model.number,
    modelRule: rule,
    session: ask.session ?? (chat.conversationId || undefined),
    ...(await asked(ask, request, 0)),
  };
}

/** The turn that follows once every call of the last one has its result: the same model, the same conversation. */
export async function nextTurn(
  ask: AttachRequest,
  segment: number,
  last: TurnRecord | undefined,
  { blocks, results }: { readonly blocks: readonly Block[]; readonly results: ReadonlyMap<string, ToolResult> },
): Promise<AskedTurn> {
  if (last === undefined) throw new MillraceError("expired", "The earlier answer is no longer kept.");
  const request = continueRequest(last.request, blocks, results);
  return {
    dialect: "idempotent",
    request,
    modelUid: last.modelUid as AskedTurn["modelUid"], // it was one when the turn was stored
    modelNumber: last.modelNumber,
    modelRule: last.modelRule,
    session: last.session,
    ...(await asked(ask, request, segment)),
  };
}

type StartFields = "caller" | "client" | "project" | "graceMs" | "idempotencyKey" | "fingerprint" | "body";

async function asked(
  { name, client, project, graceMs }: AttachRequest,
  request: TurnRequest,
  segment: number,
): Promise<Pick<AskedTurn, StartFields>> {
  return {
    caller: name.caller,
    client,
    project: project ?? projectFromMessages(request), // now: who looks on later cannot read the request
    graceMs,
    idempotencyKey: undefined, // the numbers of the stream do its work
    fingerprint: await digestOf(["idempotent", name.caller, name.name, segment]),
    body: await digestOf([name.caller, request]),
  };
}

async function digestOf(value: unknown): Promise<string> {
  const hash = createHash("sha256");
  for (const text of writeJsonApart(value, "text:")) {
    for (const piece of piecesOf(text, mostAtOnce)) {
      if (piece.length === mostAtOnce) await ownTurn();
      hash.update(piece);
    }
    hash.update(`:${text.length}`);
  }
  return hash.digest("hex");
}
