export const c = import("./lazy.ts");
