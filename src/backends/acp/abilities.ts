import { z } from "zod";

/** The abilities that an agent declares in `initialize`. */
export interface Abilities {
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly canLoad: boolean;
  readonly canDelete: boolean;
  readonly canClose: boolean;
  /** Whether the client can give a session its title. */
  readonly canTitle: boolean;
  readonly takesImages: boolean;
  /**
   * Whether a message of the agent appears in a replay only once it is complete: text that an agent process wrote before it was killed
   * is then missing, never cut. Then a replay that ends in text holds the whole answer. Source: docs/wire/acp-measured.md, "After a
   * crash".
   */
  readonly storesWholeMessages: boolean;
}

/** Agents of which that was measured, by the name they give themselves. */
const storingWhole: ReadonlySet<string> = new Set(["opencode"]);

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
  const name = agentInfo?.name;
  return {
    name,
    version: agentInfo?.version,
    canLoad: loadSession === true,
    canDelete: isOffered(sessionCapabilities?.["delete"]),
    canClose: isOffered(sessionCapabilities?.["close"]),
    canTitle: isOffered(sessionCapabilities?.["title"]),
    takesImages: promptCapabilities?.image === true,
    storesWholeMessages: name !== undefined && storingWhole.has(name.toLowerCase()),
  };
}

/** An ability is offered by an object; `null` and absence mean that it is not. */
function isOffered(ability: unknown): boolean {
  return ability !== undefined && ability !== null && ability !== false;
}
