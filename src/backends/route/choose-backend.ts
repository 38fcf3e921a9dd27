import { isMillraceError, MillraceError } from "../../base/errors.ts";
import type { Capabilities } from "../../language-server/language-server.ts";
import { isWithoutCascade } from "../../language-server/product-name.ts";
import type { BackendKind } from "../../log/event.ts";
import { awaitedReason } from "../current-server.ts";

/** The user's choice of backend. `auto`: the one that works with the installed build. */
export const backendModes = ["auto", "acp", "cascade", "raw"] as const;
export type BackendMode = (typeof backendModes)[number];

/** A backend, and why it is this one, as a clause for `doctor` and `serve`. */
export interface BackendChoice {
  readonly kind: BackendKind;
  readonly why: string;
}

/** The servers and agents of this machine. An error says why one is missing. */
export interface BackendOffer {
  readonly server:
    | MillraceError
    | {
        /** Version of the editor: `3.10.48`; empty where its process does not say. */
        readonly build: string;
        readonly capabilities: Capabilities;
        /** Why Cascade does not answer although the build has it: its server reported that it was removed, or the plan denies it. */
        readonly withoutCascade: "removed" | "denied" | undefined;
      };
  readonly agent: { readonly product: string } | MillraceError;
}

/**
 * The backend for a prompt to the account's own models.
 *
 * `auto` takes the vendor's agent where Cascade is retired, where the account's plan does not allow it, where the build is 3.9 or newer (3.9.19 removed Cascade), and where no
 * language server can be asked. Older builds keep Cascade, or raw chat where they have nothing else.
 *
 * @throws MillraceError why nothing can be asked: `ide_not_running`, `not_signed_in`, `backend_retired`, `upstream_failed`.
 */
export function chooseBackend(mode: BackendMode, { server, agent }: BackendOffer): BackendChoice {
  if (mode === "acp") {
    if (isMillraceError(agent)) throw agent;
    return { kind: "acp", why: "the setting `backend` is `acp`" };
  }
  if (mode !== "auto") return byHand(mode, server);
  if (isMillraceError(server)) {
    if (isMillraceError(agent)) throw worse(server, agent);
    return { kind: "acp", why: `no language server of an editor can be asked, and ${agent.product} is signed in` };
  }
  const why = whyAgent(server);
  if (why !== undefined) {
    if (!isMillraceError(agent)) return { kind: "acp", why };
    if ((agent.details as { readonly reason?: unknown } | undefined)?.reason === awaitedReason) throw agent;
  }
  if (server.withoutCascade !== undefined) throw retiredWithout(server.withoutCascade, agent);
  if (server.capabilities.cascade) {
    const older = isMillraceError(agent)
      ? "no agent program is signed in, so the editor's server answers"
      : "this build still has Cascade";
    return { kind: "cascade", why: older };
  }
  if (server.capabilities.rawChat) return { kind: "raw_chat", why: "this build has raw chat only" };
  throw noWay();
}

function whyAgent(server: Exclude<BackendOffer["server"], MillraceError>): string | undefined {
  if (server.withoutCascade === "removed") return "Cascade was removed from this build";
  if (server.withoutCascade === "denied") return "the account's plan does not allow Cascade";
  if (isWithoutCascade(server.build)) return `build ${server.build} asks its models through its agent`;
  if (!server.capabilities.cascade && !server.capabilities.rawChat) return "its language server offers no way to chat";
  return undefined;
}

function byHand(mode: "cascade" | "raw", server: BackendOffer["server"]): BackendChoice {
  if (isMillraceError(server)) throw server;
  const why = `the setting \`backend\` is \`${mode}\``;
  if (mode === "cascade" && server.capabilities.cascade) return { kind: "cascade", why };
  if (mode === "raw" && server.capabilities.rawChat) return { kind: "raw_chat", why };
  throw noWay(`The IDE's server does not offer ${mode === "raw" ? "raw chat" : "Cascade"}.`);
}

/** No backend can be used. A missing sign-in is reported before a program that is not installed or does not run. */
function worse(server: MillraceError, agent: MillraceError): MillraceError {
  return agent.code === "not_signed_in" && server.code !== "not_signed_in" ? agent : server;
}

function retiredWithout(why: "removed" | "denied", agent: BackendOffer["agent"]): MillraceError {
  const and = isMillraceError(agent) ? ` The IDE's agent cannot be asked either: ${agent.message}` : "";
  const options = isMillraceError(agent) ? { hint: agent.hint } : {};
  const what =
    why === "removed"
      ? "Cascade was removed from this build of the IDE."
      : "The account's plan does not allow Cascade.";
  return new MillraceError("backend_retired", what + and, options);
}

function noWay(message = "The IDE's server supports no kind of chat that Millrace knows."): MillraceError {
  return new MillraceError("upstream_failed", message, {
    hint: "Leave `--backend` at `auto`, or update the IDE. `millrace doctor` shows what its server supports.",
  });
}
