import type { Clock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";

/** How long a one-time link can be used, ms. */
export const linkLifeMs = 120_000;
/** How long a session lasts, ms. */
const sessionLifeMs = 12 * 3_600_000;
const mostSessions = 16;
const cookieName = "millrace_session";

/**
 * The dashboard's sessions: in memory, so they end with the gateway. A code is made for who has the key, is good for one
 * use, and becomes a session that a browser holds in a cookie no script can read. A cookie is sent to every port of a host,
 * so it counts only where the browser says that the request comes from this very origin.
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

export function openSessions(clock: Clock): DashboardSessions {
  const codes = new Map<string, number>();
  const sessions = new Map<string, number>();

  function forgetOld(nowMs: number): void {
    for (const [code, madeAtMs] of codes) if (nowMs - madeAtMs > linkLifeMs) codes.delete(code);
    for (const [session, madeAtMs] of sessions) if (nowMs - madeAtMs > sessionLifeMs) sessions.delete(session);
  }

  function sessionOf(headers: Headers): string | undefined {
    const given = cookieOf(headers);
    if (given === undefined) return undefined;
    // Every one is compared, in constant time: how long it takes says nothing of how close a guess was.
    let found: string | undefined;
    for (const session of sessions.keys()) if (new Secret(session).equals(new Secret(given))) found = session;
    return found;
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
      sessions.set(session, clock.now());
      const [oldest] = sessions.keys();
      if (sessions.size > mostSessions && oldest !== undefined) sessions.delete(oldest);
      return new Secret(session);
    },
    isSignedIn(headers) {
      forgetOld(clock.now());
      const site = headers.get("sec-fetch-site");
      return (site === "same-origin" || site === "none") && sessionOf(headers) !== undefined;
    },
    end(headers) {
      const session = sessionOf(headers);
      if (session !== undefined) sessions.delete(session);
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

function randomText(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
