#include "sum.h"
#include "version.h"
#include <stdio.h>
int main(void)
{
	int n, all = 0;
	while (scanf("%d", &n) == 1)
		all = sum(all, n);
	printf("%s %d\n", VERSION, all);
	return 0;
}
