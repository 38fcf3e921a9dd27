import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { Secret } from "../../base/secret.ts";

/** How long a one-time link can be used, ms. */
export const linkLifeMs = 120_000;
/** How long a session lasts, ms. */
const sessionLifeMs = 12 * 3_600_000;
const mostSessions = 16;
const cookieName = "millrace_session";

/** A stored session: the digest of its cookie, from which the cookie cannot be made, and when it began (epoch ms). */
export interface KeptSession {
  readonly digest: string;
  readonly madeAtMs: number;
}

/** A store for sessions that outlive the gateway, so that an open page still works after a restart. Neither call throws. */
export interface SessionStore {
  load(): readonly KeptSession[];
  save(sessions: readonly KeptSession[]): void;
}

/**
 * The dashboard's sessions. A caller with the key gets a code. The browser uses the code once and gets a session, in a cookie
 * that scripts cannot read. Browsers send a cookie to every port of a host, so the cookie counts only if the browser says
 * that the request comes from this origin.
 */
export interface DashboardSessions {
  /** A fresh code for a link. */
  newCode(): string;
  /** The session that a code becomes, once; undefined for a code that is unknown, used or too old. */
  redeem(code: string): Secret | undefined;
  /** Whether a request carries a living session, and comes from a page of this gateway or from the address bar. */
  isSignedIn(headers: Headers): boolean;
  /** Ends the session that a request carries. */
  end(headers: Headers): void;
}

/** Sessions in memory, and in a store where there is one. */
export function openSessions(clock: Clock, store?: SessionStore): DashboardSessions {
  const codes = new Map<string, number>();
  const sessions = new Map(store?.load().map(({ digest, madeAtMs }) => [digest, madeAtMs]));
  const save = () => store?.save([...sessions].map(([digest, madeAtMs]) => ({ digest, madeAtMs })));

  function forgetOld(nowMs: number): void {
    for (const [code, madeAtMs] of codes) if (nowMs - madeAtMs > linkLifeMs) codes.delete(code);
    for (const [digest, madeAtMs] of sessions) {
      // A session from the future was made before the clock was set back, so its age is unknown.
      if (nowMs - madeAtMs > sessionLifeMs || madeAtMs - nowMs > sessionLifeMs) sessions.delete(digest);
    }
  }

  /** The digest is looked up, not the value, so that the time of the lookup does not show how close a guess was. */
  function digestIn(headers: Headers): string | undefined {
    const given = cookieOf(headers);
    return given === undefined ? undefined : digestOf(given);
  }

  return {
    newCode() {
      forgetOld(clock.now());
      const code = randomText();
      codes.set(code, clock.now());
      return code;
    },
    redeem(code) {
      forgetOld(clock.now());
      if (!codes.delete(code)) return undefined;
      const session = randomText();
      sessions.set(digestOf(session), clock.now());
      const [oldest] = sessions.keys();
      if (sessions.size > mostSessions && oldest !== undefined) sessions.delete(oldest);
      save();
      return new Secret(session);
    },
    isSignedIn(headers) {
      forgetOld(clock.now());
      const site = headers.get("sec-fetch-site");
      const digest = digestIn(headers);
      return (site === "same-origin" || site === "none") && digest !== undefined && sessions.has(digest);
    },
    end(headers) {
      const digest = digestIn(headers);
      if (digest !== undefined && sessions.delete(digest)) save();
    },
  };
}

const attributes = "Path=/; HttpOnly; SameSite=Strict";

/** The header that hands a session to the browser. */
export function sessionCookie(session: Secret): string {
  return `${cookieName}=${session.reveal()}; Max-Age=${sessionLifeMs / 1000}; ${attributes}`; // goes on the wire here
}

/** The header that takes it away again. */
export const endSessionCookie = `${cookieName}=; Max-Age=0; ${attributes}`;

function cookieOf(headers: Headers): string | undefined {
  for (const pair of (headers.get("cookie") ?? "").split(";")) {
    const [name, value] = pair.trim().split("=", 2);
    if (name === cookieName && value) return value;
  }
  return undefined;
}

function digestOf(session: string): string {
  return createHash("sha256").update("millrace session\0").update(session).digest("hex");
}

function randomText(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
