import { useEffect, useState } from "preact/hooks";
import { api } from "./api.ts";
import { useSilentSince } from "./gateway-link.ts";
import { HealthBanner, usePageHealth } from "./health-banner.tsx";
import { Overview } from "./overview.tsx";
import { Choice } from "./parts.tsx";
import { chooseTheme, type Theme, themeNow } from "./theme.ts";
import { TurnPage } from "./turn-page.tsx";
import { onSignedOut, report } from "./use-data.ts";

/** The whole page: a heading bar, and the view that the address names (`#/turns/<id>`; the overview otherwise). */
export function App() {
  const [isSignedOut, setSignedOut] = useState(isAtUsedLink);
  const hash = useHash();
  useEffect(() => onSignedOut(() => setSignedOut(true)), []);
  if (isSignedOut) return <SignIn />;
  return <SignedIn hash={hash} onSignOut={() => setSignedOut(true)} />;
}

function SignedIn({ hash, onSignOut }: { readonly hash: string; readonly onSignOut: () => void }) {
  const known = usePageHealth();
  const isStale = useSilentSince() !== undefined;
  const turnId = /^#\/turns\/([\w.-]+)$/.exec(hash)?.[1];
  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="bar">
        <a class="brand" href="#/">
          <img src="/icon.svg" alt="" width="28" height="28" />
          Millrace
        </a>
        <div class="choices">
          <ThemeChoice />
          <button type="button" class="quiet" onClick={() => void signOut(onSignOut)}>
            Sign out
          </button>
        </div>
      </header>
      <HealthBanner {...known} />
      <main id="content" tabIndex={-1} class={isStale ? "stale" : undefined}>
        {turnId === undefined ? <Overview {...known} /> : <TurnPage key={turnId} id={turnId} />}
      </main>
    </>
  );
}

const themes = [
  ["system", "Auto"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;

function ThemeChoice() {
  const [theme, setTheme] = useState(themeNow);
  const choose = (chosen: Theme) => {
    chooseTheme(chosen);
    setTheme(chosen);
  };
  return <Choice label="Colours" options={themes} value={theme} onChange={choose} />;
}

/** The gateway leaves the browser at a link's own address only when the link is not good any more. */
function isAtUsedLink(): boolean {
  return location.pathname === "/sign-in";
}

async function signOut(done: () => void): Promise<void> {
  try {
    await api.signOut();
  } catch (error) {
    report(error);
  }
  done();
}

/** The address's fragment. A new view begins at its top, and a screen reader is taken there. */
function useHash(): string {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = () => {
      if (location.hash === "#content") return;
      setHash(location.hash);
      window.scrollTo(0, 0);
      document.querySelector<HTMLElement>("#content")?.focus({ preventScroll: true });
    };
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return hash;
}

function SignIn() {
  const [wasUsed] = useState(isAtUsedLink);
  useEffect(() => {
    document.title = "Sign in · Millrace";
    // No code stays in the address, not even one that opens nothing any more.
    if (wasUsed) history.replaceState(null, "", "/");
  }, [wasUsed]);
  return (
    <main id="content" class="sign-in">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h1>Millrace</h1>
      {wasUsed && (
        <p class="failure" role="alert">
          This link was used already, or is too old.
        </p>
      )}
      <p>This page shows your plan and your turns, so it opens with a link that only you can make:</p>
      <pre>
        <code>millrace dashboard</code>
      </pre>
      <p class="muted">The link works once. The session ends after twelve hours, or when you sign out.</p>
    </main>
  );
}
