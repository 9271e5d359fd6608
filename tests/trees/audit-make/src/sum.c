#include "sum.h"
#include "limits.h"
int sum(int a, int b)
{
	return a + b > LIMIT ? LIMIT : a + b;
}
