export type Sheet = { width: number; height: number };

export function fold(sheet: Sheet): Sheet {
  const [short, long] = [sheet.width, sheet.height].sort((a, b) => a - b);
  return { width: long / 2, height: short };
}
