export const file = "node";
