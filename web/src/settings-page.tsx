import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAlertSettings } from "./alerts.tsx";
import { Choice, Section } from "./parts.tsx";
import { alertShares, choosePageSize, pageSize, pageSizes } from "./settings.ts";
import { KeptFor, TextsSwitch } from "./texts.tsx";
import { chooseTheme, type Theme, themeNow } from "./theme.ts";
import { useTitle } from "./title.ts";

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

/** What can be chosen for this page. Nothing here changes how the gateway answers. */
export function SettingsPage() {
  const [size, setSize] = useState(String(pageSize()));
  useTitle("Settings");
  const chooseSize = (chosen: string) => {
    choosePageSize(chosen);
    setSize(chosen);
  };
  return (
    <>
      <h1>Settings</h1>
      <p class="muted">
        This browser keeps these settings. <code>millrace config</code> changes the settings of the gateway.
      </p>
      <Section id="look" title="Look">
        <dl class="card settings">
          <Setting name="Colours">
            <ThemeChoice />
          </Setting>
          <Setting name="Turns on one page">
            <Choice
              label="Turns on one page"
              options={pageSizes.map((one) => [one, one] as const)}
              value={size}
              onChange={chooseSize}
            />
          </Setting>
          <Setting name="Prompts and answers">
            <TextsSwitch />
          </Setting>
        </dl>
        <p class="note">
          <KeptFor />
        </p>
      </Section>
      <Alerting />
    </>
  );
}

function Setting({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Alerting() {
  const { settings, permission, choose } = useAlertSettings();
  return (
    <Section id="alerts" title="Alerts">
      <dl class="card settings">
        <Setting name="Alerts while this page is open">
          <Choice
            label="Alerts"
            options={onOff}
            value={settings.isOn ? "on" : "off"}
            onChange={(chosen) => choose({ isOn: chosen === "on" })}
          />
        </Setting>
        <Setting name="When a limit is used to">
          <Choice
            label="When a limit is used to"
            options={alertShares.map((share) => [share, `${share} %`] as const)}
            value={String(settings.atPercent) as (typeof alertShares)[number]}
            onChange={(share) => choose({ atPercent: Number(share) })}
          />
        </Setting>
        <Setting name="When a turn fails">
          <Choice
            label="When a turn fails"
            options={onOff}
            value={settings.onFailure ? "on" : "off"}
            onChange={(chosen) => choose({ onFailure: chosen === "on" })}
          />
        </Setting>
      </dl>
      {settings.isOn && permission !== "granted" && (
        <p class="note" role="status">
          {permission === "missing"
            ? "This browser shows no notifications here. Alerts stand on this page only."
            : "The browser does not let this page show notifications. Alerts stand on this page only. Allow notifications in the browser's settings for this address."}
        </p>
      )}
    </Section>
  );
}

const onOff = [
  ["off", "Off"],
  ["on", "On"],
] as const;
