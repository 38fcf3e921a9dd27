import { useState } from "preact/hooks";
import { Choice, Section } from "./parts.tsx";
import {
  type AlertSettings,
  alertSettings,
  alertShares,
  chooseAlerts,
  choosePageSize,
  pageSize,
  pageSizes,
} from "./settings.ts";
import { chooseTheme, type Theme, themeNow } from "./theme.ts";
import { useTitle } from "./title.ts";

const themes = [
  ["system", "Auto"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;

export function ThemeChoice() {
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
        This browser keeps these settings. <code>millrace config</code> changes those of the gateway.
      </p>
      <Section id="look" title="Look">
        <dl class="card settings">
          <div>
            <dt>Colours</dt>
            <dd>
              <ThemeChoice />
            </dd>
          </div>
          <div>
            <dt>Turns on one page</dt>
            <dd>
              <Choice
                label="Turns on one page"
                options={pageSizes.map((one) => [one, one] as const)}
                value={size}
                onChange={chooseSize}
              />
            </dd>
          </div>
        </dl>
      </Section>
      <Alerting />
    </>
  );
}

function Alerting() {
  const [settings, setSettings] = useState(alertSettings);
  const [permission, setPermission] = useState(permissionNow);
  const choose = (part: Partial<AlertSettings>) => {
    const chosen = { ...settings, ...part };
    chooseAlerts(chosen);
    setSettings(chosen);
  };
  const turnOn = async () => {
    choose({ isOn: true });
    if (permission === "default") setPermission(await Notification.requestPermission());
  };
  return (
    <Section id="alerts" title="Alerts">
      <dl class="card settings">
        <div>
          <dt>Alerts while this page is open</dt>
          <dd>
            <Choice
              label="Alerts"
              options={onOff}
              value={settings.isOn ? "on" : "off"}
              onChange={(chosen) => (chosen === "on" ? void turnOn() : choose({ isOn: false }))}
            />
          </dd>
        </div>
        <div>
          <dt>When a limit is used to</dt>
          <dd>
            <Choice
              label="When a limit is used to"
              options={alertShares.map((share) => [share, `${share} %`] as const)}
              value={String(settings.atPercent) as (typeof alertShares)[number]}
              onChange={(share) => choose({ atPercent: Number(share) })}
            />
          </dd>
        </div>
        <div>
          <dt>When a turn fails</dt>
          <dd>
            <Choice
              label="When a turn fails"
              options={onOff}
              value={settings.onFailure ? "on" : "off"}
              onChange={(chosen) => choose({ onFailure: chosen === "on" })}
            />
          </dd>
        </div>
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

function permissionNow(): NotificationPermission | "missing" {
  return "Notification" in globalThis ? Notification.permission : "missing";
}
