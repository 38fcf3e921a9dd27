import { preact } from "@preact/preset-vite";
import { defineConfig } from "vite";

/** The dashboard: static files without inline code or styles, for the gateway to serve under a strict policy. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [preact({ devToolsEnabled: false, prefreshEnabled: false })],
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 200,
  },
});
