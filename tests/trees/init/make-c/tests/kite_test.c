#include "line.h"
#include <assert.h>

int main(void) {
    assert(line_width(0, 5) == 1);
    assert(line_width(2, 5) == 5);
    return 0;
}
