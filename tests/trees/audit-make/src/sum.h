int sum(int, int);
