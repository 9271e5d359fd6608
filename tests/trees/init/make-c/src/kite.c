#include "kite.h"
#include "line.h"

void kite_draw(FILE *out, int height) {
    for (int row = 0; row < height; row++) {
        int width = line_width(row, height);
        fprintf(out, "%*s", (height - width) / 2, "");
        for (int i = 0; i < width; i++)
            fputc('*', out);
        fputc('\n', out);
    }
}
