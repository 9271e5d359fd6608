export const bill = 8;
