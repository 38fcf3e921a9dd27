export const strange = 1;
