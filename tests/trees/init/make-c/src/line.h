#ifndef LINE_H
#define LINE_H

int line_width(int row, int height);

#endif
