/** The time zone of days and hours, and whether it stands in for one that nobody knows. */
export interface LocalZone {
  readonly zone: string;
  readonly isFallback: boolean;
}

/**
 * The time zone of this machine, as an IANA name that `Intl` takes. With `TZ` empty or wrong, `Intl` names none or one that it refuses
 * itself: then it is UTC, which `Date` uses there too.
 */
export function localZone(named: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone): LocalZone {
  const fallback = { zone: "UTC", isFallback: true };
  if (!named) return fallback;
  try {
    const { timeZone: zone } = new Intl.DateTimeFormat("en", { timeZone: named }).resolvedOptions();
    return { zone, isFallback: false };
  } catch {
    return fallback;
  }
}
