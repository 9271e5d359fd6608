#include "line.h"

int line_width(int row, int height) {
    int middle = height / 2;
    int distance = row > middle ? row - middle : middle - row;
    return 2 * (middle - distance) + 1;
}
