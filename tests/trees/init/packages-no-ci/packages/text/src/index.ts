export const month = (name: string): string => name.slice(0, 3);
