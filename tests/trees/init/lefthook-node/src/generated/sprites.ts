export const sprites = ["wave"];
