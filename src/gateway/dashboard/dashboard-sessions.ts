import { createHash } from "node:crypto";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { Secret } from "../../base/secret.ts";

/** How long a one-time link can be used, ms. */
export const linkLifeMs = 120_000;
/** How long a session lasts, ms. */
const sessionLifeMs = 12 * 3_600_000;
const mostSessions = 16;
/** The header in which the page sends its session. */
const sessionHeader = "x-millrace-session";

/** A stored session: the digest of its secret, from which the secret cannot be made, and when it began (epoch ms). */
export interface KeptSession {
  readonly digest: string;
  readonly madeAtMs: number;
}

/** A store for sessions that outlive the gateway, so that an open page still works after a restart. No call throws. */
export interface SessionStore {
  load(): readonly KeptSession[];
  save(sessions: readonly KeptSession[]): void;
  /** Removes the file with which `millrace dashboard` leads a browser to its link. */
  removeLinkFile(): void;
}

/**
 * The dashboard's sessions. A caller with the key gets a code. The page uses the code once and gets a session, a secret that it keeps
 * in its `sessionStorage` and sends as a header. A cookie would not do: browsers send it to every port of a host. The storage belongs
 * to one scheme, host and port. Source: docs/http-api.md, "Access".
 */
export interface DashboardSessions {
  /** A fresh code for a link. */
  newCode(): string;
  /** The session that a code becomes, once; undefined for a code that is unknown, used or too old. */
  redeem(code: string): Secret | undefined;
  /** Whether a request carries a living session. */
  isSignedIn(headers: Headers): boolean;
  /** Ends the session that a request carries. */
  end(headers: Headers): void;
}

/**
 * Sessions in memory, and in a store where there is one. Links and sessions are known by digests under the owner's key (`keyDigest`),
 * so all of them end when that key changes. `stopping` aborts when the gateway stops.
 */
export function openSessions(
  clock: Clock,
  stopping: AbortSignal,
  keyDigest: () => string,
  store?: SessionStore,
): DashboardSessions {
  const digestOf = (value: string) =>
    createHash("sha256").update("millrace session\0").update(keyDigest()).update("\0").update(value).digest("hex");

  const codes = new Map<string, number>();
  const sessions = new Map(store?.load().map(({ digest, madeAtMs }) => [digest, madeAtMs]));
  const save = () => store?.save([...sessions].map(([digest, madeAtMs]) => ({ digest, madeAtMs })));
  store?.removeLinkFile(); // of a gateway that was killed

  function forgetOld(nowMs: number): void {
    for (const [code, madeAtMs] of codes) if (nowMs - madeAtMs > linkLifeMs) codes.delete(code);
    for (const [digest, madeAtMs] of sessions) {
      // A session from the future was made before the clock was set back, so its age is unknown.
      if (nowMs - madeAtMs > sessionLifeMs || madeAtMs - nowMs > sessionLifeMs) sessions.delete(digest);
    }
  }

  /** The digest is looked up, not the value, so that the time of the lookup does not show how close a guess was. */
  function digestIn(headers: Headers): string | undefined {
    const given = headers.get(sessionHeader);
    return given === null ? undefined : digestOf(given);
  }

  const removeLinkLater = async () => {
    await bestEffort(clock.sleep(linkLifeMs + 1, stopping));
    forgetOld(clock.now());
    if (codes.size === 0) store?.removeLinkFile();
  };
  return {
    newCode() {
      forgetOld(clock.now());
      const code = randomText();
      codes.set(digestOf(code), clock.now());
      void removeLinkLater();
      return code;
    },
    redeem(code) {
      forgetOld(clock.now());
      if (!codes.delete(digestOf(code))) return undefined;
      store?.removeLinkFile();
      const session = randomText();
      sessions.set(digestOf(session), clock.now());
      const [oldest] = sessions.keys();
      if (sessions.size > mostSessions && oldest !== undefined) sessions.delete(oldest);
      save();
      return new Secret(session);
    },
    isSignedIn(headers) {
      forgetOld(clock.now());
      const digest = digestIn(headers);
      return digest !== undefined && sessions.has(digest);
    },
    end(headers) {
      const digest = digestIn(headers);
      if (digest !== undefined && sessions.delete(digest)) save();
    },
  };
}

function randomText(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
