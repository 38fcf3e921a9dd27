/** A small PDF in base64: a page for each text; an empty text is a page without any, as of a scan. */
export function pdfOf(...texts: readonly string[]): string {
  const page = (i: number) =>
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * i} 0 R >>`;
  const shown = (text: string) => (text === "" ? "" : `BT /F1 12 Tf 72 720 Td (${text}) Tj ET`);
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${texts.map((_, i) => `${4 + 2 * i} 0 R`).join(" ")}] /Count ${texts.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...texts.flatMap((text, i) => [page(i), `<< /Length ${shown(text).length} >>\nstream\n${shown(text)}\nendstream`]),
  ];
  const body = objects.map((object, i) => `${i + 1} 0 obj\n${object}\nendobj\n`).join("");
  return Buffer.from(`%PDF-1.4\n${body}trailer\n<< /Root 1 0 R >>\n%%EOF\n`).toString("base64");
}
