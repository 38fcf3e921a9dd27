import { parentPort, workerData } from "node:worker_threads";
import { getDocumentProxy, getResolvedPDFJS } from "unpdf";
import type { PdfJob, PdfNews } from "./pdf-reader.ts";

// Runs in a separate thread: reads the PDF that it was given, page by page, until it is ended.
const { base64, mostPages } = workerData as PdfJob;
await getResolvedPDFJS();
tell({ type: "loaded" });
try {
  const data = new Uint8Array(Buffer.from(base64, "base64"));
  const document = await getDocumentProxy(data, { verbosity: 0 });
  tell({ type: "opened", pages: document.numPages });
  for (let number = 1; number <= Math.min(document.numPages, mostPages); number++) {
    const { items } = await (await document.getPage(number)).getTextContent();
    const texts = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : ""));
    tell({ type: "page", text: texts.join("").trim() });
  }
  tell({ type: "end", why: `only ${mostPages} pages are read` });
} catch (error) {
  const isLocked = error instanceof Error && error.name === "PasswordException";
  tell({ type: "end", why: isLocked ? "it has a password" : "it is damaged" });
}

function tell(news: PdfNews): void {
  parentPort?.postMessage(news, []);
}
