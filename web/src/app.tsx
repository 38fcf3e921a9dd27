import type { FunctionComponent } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { namesTurns } from "./address.ts";
import { Alerts, useAlerts } from "./alerts.tsx";
import { api, onSessionChange, signIn, signOut, storedSession } from "./api.ts";
import { noteSilence, useSilentSince } from "./gateway-link.ts";
import { HealthBanner, usePageHealth } from "./health-banner.tsx";
import { useListKeys } from "./list-keys.ts";
import { useFeed, useRunningCount } from "./live-turns.ts";
import { Overview } from "./overview.tsx";
import { Palette } from "./palette.tsx";
import { Choice, CopyLine, Loading } from "./parts.tsx";
import { Place } from "./place.tsx";
import { PricesOfModels, pricesOf } from "./prices.ts";
import { alertsAreOn, noteWanted, takeWanted } from "./settings.ts";
import { TextsOfSession, useTexts } from "./texts.tsx";
import { chooseTheme, themeNow, themes } from "./theme.ts";
import { useTitle, useTitleNews } from "./title.ts";
import { onSignedOut, report, useData } from "./use-data.ts";

/** The whole page: a heading bar, and the view that the address names (`#/turns/<id>`; the overview otherwise). */
export function App() {
  const [hash, setHash] = useHash();
  const [session, setSession] = useState<"none" | "refused" | "living">(storedSession() === null ? "none" : "living");
  const [, code, query] = /^#\/sign-in\/([\w-]+)(\?.*)?$/.exec(hash) ?? [];
  useEffect(() => onSignedOut(() => setSession("none")), []);
  useEffect(() => onSessionChange(() => setSession(storedSession() === null ? "none" : "living")), []);
  useEffect(() => {
    if (code === undefined) return;
    history.replaceState(null, "", "/"); // no code stays in the address, not even one that no longer works
    const use = async () => {
      try {
        await signIn(code);
        setSession("living");
        if (location.hash === "") history.replaceState(null, "", query === undefined ? takeWanted() : `#/${query}`);
      } catch (error) {
        report(error);
        setSession("refused");
      }
      setHash(location.hash); // the user may have followed a link to a view meanwhile
    };
    void use();
  }, [code, query, setHash]);
  if (code !== undefined) return null; // its answer comes at once
  if (session !== "living") return <SignIn hash={hash} wasUsed={session === "refused"} />;
  return <SignedIn hash={hash} onSignOut={() => setSession("none")} />;
}

function SignedIn({ hash, onSignOut }: { readonly hash: string; readonly onSignOut: () => void }) {
  const texts = useTexts();
  useFeed();
  useListKeys();
  const known = usePageHealth();
  const isStale = useSilentSince() !== undefined;
  const limits = useData("limits", api.limits, 60_000, alertsAreOn);
  const keys = useData("issued keys", api.keys, 60_000);
  const models = useData("models", api.models, 600_000);
  const prices = useMemo(() => pricesOf(models.data), [models.data]);
  const alerts = useAlerts(limits.data);
  useTitleNews(limits.data, useRunningCount());
  const turnId = /^#\/turns\/([\w.-]+)$/.exec(hash)?.[1];
  const view = viewOf(hash);
  return (
    <PricesOfModels.Provider value={prices}>
      <TextsOfSession.Provider value={texts}>
        <a class="skip" href="#content">
          Skip to content
        </a>
        <header class="bar">
          <a class="brand" href="#/">
            <img src="/icon.svg" alt="" width="28" height="28" />
            Millrace
          </a>
          <nav class="views" aria-label="Views">
            {views
              .filter(({ name }) => name !== "Keys" || (keys.data?.data.length ?? 0) > 0)
              .map(({ name, at }) => (
                <a key={at} href={at} aria-current={at === view ? "page" : undefined}>
                  {name}
                </a>
              ))}
          </nav>
          <div class="choices">
            <Place {...known} />
            <button type="button" class="quiet" onClick={() => void leave(onSignOut)}>
              Sign out
            </button>
          </div>
        </header>
        <HealthBanner {...known} />
        <Alerts {...alerts} />
        <main id="content" tabIndex={-1} class={isStale ? "stale" : undefined}>
          {turnId !== undefined ? (
            <LateTurn key={`${turnId} ${texts.areShown}`} id={turnId} />
          ) : view === "#/models" ? (
            <LateModels models={models} />
          ) : view === "#/keys" ? (
            <LateKeys keys={keys} />
          ) : view === "#/" ? (
            <Overview {...known} limits={limits} />
          ) : (
            <NoPage />
          )}
        </main>
        <Palette />
        <footer>
          {known.health.data !== undefined && <span>Millrace {known.health.data.version}</span>}
          <ThemeChoice />
          <span class="keys-help">
            <kbd>Ctrl</kbd> <kbd>K</kbd> finds all commands. <kbd>j</kbd> and <kbd>k</kbd> go through the lists.
          </span>
        </footer>
      </TextsOfSession.Provider>
    </PricesOfModels.Provider>
  );
}

/** A page that most visits do not come to: it is loaded when it is shown. */
function late<Props extends object>(load: () => Promise<FunctionComponent<Props>>): FunctionComponent<Props> {
  return (props) => {
    const [loaded, setLoaded] = useState<{ readonly Page: FunctionComponent<Props> }>();
    useEffect(() => {
      load().then(
        (Page) => setLoaded({ Page }),
        () => noteSilence(), // the gateway went away: the page's banner says so
      );
    }, []);
    return loaded === undefined ? <Loading lines={6} /> : <loaded.Page {...props} />;
  };
}

const LateModels = late(async () => (await import("./models-page.tsx")).ModelsPage);
const LateTurn = late(async () => (await import("./turn-page.tsx")).TurnPage);
const LateKeys = late(async () => (await import("./keys-page.tsx")).KeysPage);

function ThemeChoice() {
  const [theme, setTheme] = useState(themeNow);
  const choose = (chosen: typeof theme) => {
    chooseTheme(chosen);
    setTheme(chosen);
  };
  return <Choice label="Colours" options={themes} value={theme} onChange={choose} />;
}

const views = [
  { name: "Overview", at: "#/" },
  { name: "Models", at: "#/models" },
  { name: "Keys", at: "#/keys" },
] as const;

/** The view that an address names; undefined for that of a turn, and for one that names none. */
function viewOf(hash: string): string | undefined {
  return hash === "" ? "#/" : views.find(({ at }) => at === hash.split("?")[0])?.at;
}

function NoPage() {
  useTitle("No such page");
  return (
    <>
      <h1>There is no such page</h1>
      <p class="card">
        Check the address, or go to the <a href="#/">overview</a>.
      </p>
    </>
  );
}

async function leave(done: () => void): Promise<void> {
  try {
    await signOut();
  } catch (error) {
    report(error);
  }
  done();
}

/** The address's fragment. A new view begins at its top, or at the turns that the address names, and a screen reader is taken there. */
function useHash() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = () => {
      if (location.hash === "#content") return;
      setHash(location.hash);
      if (namesTurns()) {
        requestAnimationFrame(() => document.querySelector("#ended")?.scrollIntoView());
        return;
      }
      window.scrollTo(0, 0);
      document.querySelector<HTMLElement>("#content")?.focus({ preventScroll: true });
    };
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return [hash, setHash] as const;
}

function SignIn({ hash, wasUsed }: { readonly hash: string; readonly wasUsed: boolean }) {
  useTitle("Sign in");
  useEffect(noteWanted, [hash]);
  return (
    <main id="content" class="sign-in">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h1>Millrace</h1>
      {wasUsed && (
        <p class="failure" role="alert">
          This link was already used, or has expired.
        </p>
      )}
      <p>This page shows your plan and your turns, so it opens with a link that only you can make:</p>
      <CopyLine label="the command" text="millrace dashboard" />
      <p class="muted">
        Type it in a terminal. This tab then opens too. You stay signed in while you use the page, and for eight days
        after that.
      </p>
    </main>
  );
}
