import { z } from "zod";

/** The abilities that an agent declares in `initialize`. */
export interface Abilities {
  readonly name: string | undefined;
  readonly version: string | undefined;
  /** "OpenCode 1.18.33": what is known of an agent's tools is known of this. Empty where it does not say. */
  readonly program: string;
  readonly canLoad: boolean;
  readonly canDelete: boolean;
  readonly canClose: boolean;
  /** Whether the client can give a session its title. */
  readonly canTitle: boolean;
  readonly takesImages: boolean;
}

const schema = z.looseObject({
  agentInfo: z.looseObject({ name: z.string().optional(), version: z.string().optional() }).nullish(),
  agentCapabilities: z
    .looseObject({
      loadSession: z.boolean().nullish(),
      promptCapabilities: z.looseObject({ image: z.boolean().nullish() }).nullish(),
      sessionCapabilities: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
});

/** Reads the reply to `initialize`. Throws a `ZodError` when it is none. */
export function readAbilities(reply: unknown): Abilities {
  const { agentInfo, agentCapabilities } = schema.parse(reply);
  const { loadSession, promptCapabilities, sessionCapabilities } = agentCapabilities ?? {};
  const { name, version } = agentInfo ?? {};
  return {
    name,
    version,
    program: `${name ?? ""} ${version ?? ""}`.trim(),
    canLoad: loadSession === true,
    canDelete: isOffered(sessionCapabilities?.["delete"]),
    canClose: isOffered(sessionCapabilities?.["close"]),
    canTitle: isOffered(sessionCapabilities?.["title"]),
    takesImages: promptCapabilities?.image === true,
  };
}

/** An ability is offered by an object; `null` and absence mean that it is not. */
function isOffered(ability: unknown): boolean {
  return ability !== undefined && ability !== null && ability !== false;
}
