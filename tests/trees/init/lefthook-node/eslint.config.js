export default [{ files: ["**/*.ts"], rules: { eqeqeq: "error" } }];
