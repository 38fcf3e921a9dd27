import type { TurnHeader } from "./header.ts";

/** The label of a turn that its client sealed, which the gateway's key opens: model, dialect, client and project, never a text. */
type Label = Pick<TurnHeader, "dialect" | "modelUid" | "modelNumber" | "client" | "project"> & {
  readonly model: string;
};

export function encodeLabel(header: TurnHeader): string {
  const { dialect, modelUid, modelNumber, client, project, request } = header;
  return JSON.stringify({ dialect, modelUid, modelNumber, client, project, model: request.model } satisfies Label);
}

/** The label as a turn's header: members that it lacks are empty. */
export function decodeLabel(text: string): TurnHeader {
  const { dialect, modelUid, modelNumber, client, project, model } = JSON.parse(text) as Label; // written by encodeLabel
  return {
    dialect,
    modelUid,
    modelNumber,
    client,
    ...(project === undefined ? {} : { project }),
    request: {
      model,
      messages: [],
      tools: [],
      toolChoice: { type: "auto" },
      parallelToolCalls: true,
      responseFormat: { type: "text" },
      stop: [],
    },
    fingerprint: "",
    idempotencyKey: undefined,
    session: undefined,
    graceMs: 0,
  };
}
