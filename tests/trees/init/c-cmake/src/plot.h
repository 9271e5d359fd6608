#ifndef PLOT_H
#define PLOT_H
int plot_area(int width, int height);
#endif
