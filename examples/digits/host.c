/* Reads an image of a handwritten digit (PGM as text, 8x8) and prints which digit it shows. */
#include "digits.h"

#include <stdio.h>

/* Reads the next number of a PGM file; comments run from # to the end of the line. */
static int read_number(FILE *file, int *number) {
    int c;
    while ((c = getc(file)) != EOF) {
        if (c == '#') {
            while ((c = getc(file)) != EOF && c != '\n') {
            }
        } else if (c >= '0' && c <= '9') {
            ungetc(c, file);
            return fscanf(file, "%d", number) == 1;
        }
    }
    return 0;
}

/* Reads the 64 grey levels, scaled to 0..1 as the model wants them. */
static int read_image(const char *path, float image[64]) {
    FILE *file = fopen(path, "r");
    int width = 0, height = 0, white = 0, done = 0;
    if (file == NULL) {
        return 0;
    }
    if (getc(file) == 'P' && getc(file) == '2' && read_number(file, &width) && read_number(file, &height) &&
        read_number(file, &white) && width == 8 && height == 8 && white > 0) {
        int level;
        while (done < 64 && read_number(file, &level)) {
            image[done++] = (float)level / (float)white;
        }
    }
    fclose(file);
    return done == 64;
}

int main(int count, char **arguments) {
    float image[64], scores[10];
    lithify_context *context = NULL;
    int status;
    if (count != 2 || !read_image(arguments[1], image)) {
        fprintf(stderr, "usage: %s IMAGE.pgm    (8x8, as text)\n", arguments[0]);
        return 2;
    }
    status = digits_create(NULL, &context);
    if (status != LITHIFY_OK) {
        fprintf(stderr, "the model does not start: status %d\n", status);
        return 1;
    }
    if (digits_infer(context, image, scores) == LITHIFY_OK) {
        int best = 0;
        for (int digit = 1; digit < 10; digit++) {
            best = scores[digit] > scores[best] ? digit : best;
        }
        printf("%d\n", best);
    } else {
        fprintf(stderr, "%s\n", digits_error(context));
        status = 1;
    }
    digits_destroy(context);
    return status;
}
