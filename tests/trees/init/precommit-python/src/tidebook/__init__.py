# tidebook: tide tables for small harbours
