/* Shared by the C hosts of the tests. */
#ifndef CONTRACT_H
#define CONTRACT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program where a condition does not hold. */
#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

/* Ends the program where a call does not fail as it should, with a message that contains a text. */
#define CHECK_FAILS(model, call, wanted, part)                                                              \
    do {                                                                                                    \
        int32_t status_ = (call);                                                                           \
        const char *message_ = model##_error(context);                                                      \
        if (status_ != (wanted) || !strstr(message_, part)) {                                               \
            fprintf(stderr, "%s:%d: status %d, message '%s'\n", __FILE__, __LINE__, (int)status_, message_); \
            exit(1);                                                                                        \
        }                                                                                                   \
    } while (0)

#endif
