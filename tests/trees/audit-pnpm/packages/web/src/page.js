const { sum } = require("core");
exports.page = (prices) => `total: ${prices.reduce(sum, 0)}`;
