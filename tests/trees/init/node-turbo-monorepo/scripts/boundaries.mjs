process.exit(process.argv.length > 2 ? 0 : 1);
