#include "plot.h"

int plot_area(int width, int height) { return width * height; }
