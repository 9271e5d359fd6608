export const tide = (h: number): number => h % 12;
