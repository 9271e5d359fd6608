export const waves = (n: number): number => n + 1;
