/* Text of other programs, as our messages show it. */

/** At most so many characters: a text that was cut ends in an ellipsis. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** The longest line that an error quotes, in characters. */
const mostQuoted = 240;
/** Keys of APIs, tokens of Devin and Windsurf, JSON web tokens. */
const credential = /\b(?:sk-[\w-]{8,}|devin-session-token\S+|cog_\w+|eyJ[\w-]+\.[\w.-]+)/g;

/** A text without these secrets. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, "[redacted]")), text);
}

/** What another program said, as an error quotes it: a line, without these secrets and without parts that look like a credential. */
export function quotable(text: string, secrets: readonly string[] = []): string {
  const line = withoutSecrets(oneLine(text), secrets).replaceAll(credential, "[redacted]");
  return shortened(line, mostQuoted);
}
