#include "plot.h"

int main(void) { return plot_area(2, 3) == 6 ? 0 : 1; }
