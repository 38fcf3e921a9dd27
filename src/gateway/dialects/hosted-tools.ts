import { refuse } from "./parse-body.ts";

/** A tool of a request that the caller does not run itself: its type, and where in the body it stands (`tools[2]`). */
export interface HostedTool {
  readonly type: string;
  readonly path: string;
}

/**
 * Hosted tool types that agents offer by default beside their own tools. The agents work without them, so a refusal would
 * break the client because of a tool that it does not need. Source: docs/wire/clients.md, "Hosted tools".
 */
const offeredByDefault = /^(?:web_search|local_shell|tool_search|image_generation|advisor_\d+)$/;

/**
 * The hosted types to leave out of a request, each once: those that clients offer by default, if the request also has the client's own
 * tools (`own`: their number). Any other hosted tool is refused, because the answer would lack its result.
 *
 * @throws MillraceError `invalid_request` that names the first type and its place.
 */
export function leaveOutHosted(hosted: readonly HostedTool[], own: number): readonly string[] {
  const needed = hosted.find(({ type }) => own === 0 || !offeredByDefault.test(type));
  if (needed !== undefined) throw hostedRefusal(needed);
  return [...new Set(hosted.map(({ type }) => type))];
}

/** The error for a hosted tool that is not available here, with the alternative. */
export function hostedRefusal({ type, path }: HostedTool) {
  return refuse(
    path,
    `\`${type.slice(0, 60)}\` is a hosted tool: the API's vendor would run it, and nothing runs it here.`,
    "Take it out, or offer a tool of your own with a JSON Schema, which your program runs.",
  );
}
