import { createHash, randomBytes } from "node:crypto";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { Secret } from "../../base/secret.ts";

/** How long a one-time link can be used, ms. */
export const linkLifeMs = 120_000;
/** How long a session lasts after its last use, ms: a page that was open before a week's holiday still works. */
const idleLifeMs = 8 * 86_400_000;
/** How long a session lasts however much it is used, ms. */
const longestLifeMs = 90 * 86_400_000;
/** How much later a use must be than the one that is stored; ms. An open page asks every few seconds. */
const noteUseAfterMs = 600_000;
const mostSessions = 16;
/** The header in which the page sends its session. */
const sessionHeader = "x-millrace-session";

/** A stored session or link: the digest of its secret, from which the secret cannot be made, when it was made and used last (epoch ms), and whether it shows texts. */
export interface KeptSession {
  readonly digest: string;
  readonly madeAtMs: number;
  /** Absent in one that an older version kept, and until the first use: as `madeAtMs`. */
  readonly usedAtMs?: number | undefined;
  readonly showsTexts?: boolean | undefined;
  /** A link that nobody has used yet. */
  readonly isLink?: boolean | undefined;
}

/** A store for sessions and links that outlive the gateway, so that an open page still works after a restart. No call throws. */
export interface SessionStore {
  load(): readonly KeptSession[];
  save(sessions: readonly KeptSession[]): void;
  /** Removes the file with which `millrace dashboard` leads a browser to its link. */
  removeLinkFile(): void;
}

/**
 * The dashboard's sessions. A caller with the key gets a code. The page uses the code once and gets a session, a secret that it keeps
 * in its `localStorage` and sends as a header: every tab of the browser has it. A cookie would not do: browsers send it to every port of a
 * host. The storage belongs to one scheme, host and port. Each use renews the session. Source: docs/http-api.md, "Access".
 */
export type DashboardSessions = ReturnType<typeof openSessions>;

/**
 * Sessions in memory, and in a store where there is one. Links and sessions are known by digests under the owner's key (`keyDigest`),
 * so all of them end when that key changes. `stopping` aborts when the gateway stops. `showsTexts`: the setting of a session that chose nothing.
 */
export function openSessions(
  clock: Clock,
  stopping: AbortSignal,
  keyDigest: () => string,
  {
    store,
    showsTexts = false,
  }: { readonly store?: SessionStore | undefined; readonly showsTexts?: boolean | undefined } = {},
) {
  const digestOf = (value: string) =>
    createHash("sha256").update("millrace session\0").update(keyDigest()).update("\0").update(value).digest("hex");

  const kept = Map.groupBy(store?.load() ?? [], ({ isLink = false }) => isLink);
  const codes = new Map(kept.get(true)?.map(({ digest, madeAtMs }) => [digest, madeAtMs]));
  const sessions = new Map(kept.get(false)?.map((session) => [session.digest, session]));
  const linkDigest = (code: string) => digestOf(`link ${code}`);
  const save = () => {
    const links = [...codes].map(([digest, madeAtMs]) => ({ digest, madeAtMs, isLink: true }));
    store?.save([...sessions.values(), ...links]);
  };

  function forgetOld(nowMs: number): void {
    for (const [code, madeAtMs] of codes) if (nowMs - madeAtMs > linkLifeMs) codes.delete(code);
    for (const { digest, madeAtMs, usedAtMs = madeAtMs } of sessions.values()) {
      // A session from the future was made before the clock was set back, so its age is unknown.
      if (Math.abs(nowMs - usedAtMs) > idleLifeMs || nowMs - madeAtMs > longestLifeMs) sessions.delete(digest);
    }
  }

  /** The digest is looked up, not the value, so that the time of the lookup does not show how close a guess was. */
  function sessionIn(headers: Headers): KeptSession | undefined {
    const nowMs = clock.now();
    forgetOld(nowMs);
    const given = headers.get(sessionHeader);
    const session = given === null ? undefined : sessions.get(digestOf(given));
    if (session === undefined) return undefined;
    if (Math.abs(nowMs - (session.usedAtMs ?? session.madeAtMs)) < noteUseAfterMs) return session;
    const used = { ...session, usedAtMs: nowMs };
    sessions.set(used.digest, used);
    save();
    return used;
  }

  const removeLinkLater = async () => {
    await bestEffort(clock.sleep(linkLifeMs + 1, stopping));
    forgetOld(clock.now());
    if (codes.size === 0) store?.removeLinkFile();
  };
  forgetOld(clock.now());
  if (codes.size === 0)
    store?.removeLinkFile(); // of a gateway that was killed
  else void removeLinkLater();
  return {
    /** A fresh code for a link. */
    newCode(): string {
      forgetOld(clock.now());
      const code = randomBytes(32).toString("base64url");
      codes.set(linkDigest(code), clock.now());
      save();
      void removeLinkLater();
      return code;
    },
    /** The session that a code becomes, once; undefined for a code that is unknown, used or too old. */
    redeem(code: string): Secret | undefined {
      forgetOld(clock.now());
      if (!codes.delete(linkDigest(code))) return undefined;
      store?.removeLinkFile();
      const session = randomBytes(32).toString("base64url");
      const digest = digestOf(session);
      sessions.set(digest, { digest, madeAtMs: clock.now() });
      const [oldest] = sessions.keys();
      if (sessions.size > mostSessions && oldest !== undefined) sessions.delete(oldest);
      save();
      return new Secret(session);
    },
    /** Whether a request carries a living session. */
    isSignedIn: (headers: Headers) => sessionIn(headers) !== undefined,
    /** Whether the session that a request carries shows prompts and answers: by its owner's click there, else by the setting. */
    showsTexts(headers: Headers): boolean {
      const session = sessionIn(headers);
      return session !== undefined && (session.showsTexts ?? showsTexts);
    },
    /** Shows them in that session from now on, or hides them; false if the request carries no living session. */
    setTexts(headers: Headers, areShown: boolean): boolean {
      const session = sessionIn(headers);
      if (session === undefined) return false;
      sessions.set(session.digest, { ...session, showsTexts: areShown });
      save();
      return true;
    },
    /** Ends the session that a request carries. */
    end(headers: Headers): void {
      const session = sessionIn(headers);
      if (session !== undefined && sessions.delete(session.digest)) save();
    },
  };
}
