export default [{ files: ["**/*.{ts,tsx}"], rules: { eqeqeq: "error" } }];
