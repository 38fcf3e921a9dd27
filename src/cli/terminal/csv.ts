/** Rows as CSV with a header line. Source: RFC 4180. A text that a spreadsheet would run as a formula is made harmless. */
export function csv(
  rows: readonly Readonly<Record<string, string | number | boolean | null>>[],
  columns: readonly string[],
): string {
  const lines = rows.map((row) => columns.map((column) => cell(row[column] ?? "")).join(","));
  return [columns.join(","), ...lines].map((line) => `${line}\r\n`).join("");
}

function cell(value: string | number | boolean): string {
  if (typeof value !== "string") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
